"""Access: users, groups, policies, keys, and which statement decides."""

import requests
from playwright.sync_api import expect


def test_a_user_gets_a_policy_by_a_group_and_a_key_that_works(window, rest, tarn):
    page = window.go("/admin/policies")
    page.get_by_role("button", name="Create policy").click()
    page.get_by_label("Name").fill("Readers")
    page.get_by_label("Add action to statement 1").fill("fs:ReadObject")
    page.get_by_label("Add action to statement 1").fill("fs:List*")
    page.keyboard.press("Enter")
    page.get_by_label("Resource of statement 1").fill("arn:lakefs:fs:::repository/digits/*")
    page.get_by_role("dialog").get_by_role("button", name="Create policy").click()
    expect(page.get_by_role("grid", name="Policies").get_by_role("link", name="Readers")).to_be_visible()
    assert rest.get("/auth/policies/Readers")["statement"] == [
        {"effect": "allow", "action": ["fs:ReadObject", "fs:List*"], "resource": "arn:lakefs:fs:::repository/digits/*"}
    ]
    window.go("/admin/policies?policy=Readers")
    expect(page.get_by_role("dialog")).to_be_visible()
    window.review("policy")

    window.go("/admin/groups")
    page.get_by_role("button", name="Create group").click()
    page.get_by_label("Name").fill("readers")
    page.get_by_role("dialog").get_by_role("button", name="Create group").click()
    page.get_by_role("grid", name="Groups").get_by_role("link", name="readers").click()
    page.get_by_label("Add policy").select_option("Readers")
    page.get_by_role("button", name="Add policy").click()
    expect(page.get_by_role("button", name="Remove policy Readers")).to_be_visible()

    window.go("/admin/users")
    page.get_by_role("button", name="Create user").click()
    page.get_by_label("Name").fill("ann")
    page.get_by_role("dialog").get_by_role("button", name="Create user").click()
    page.get_by_label("Add group").select_option("readers")
    page.get_by_role("button", name="Add group").click()
    expect(page.get_by_role("button", name="Remove group readers")).to_be_visible()
    page.get_by_role("button", name="Create key").click()
    shown = page.get_by_role("dialog").get_by_role("status").locator("code")
    expect(shown).to_have_count(2)
    key, secret = shown.all_inner_texts()
    window.review("user")
    # Beside the window, whose requests would be those of ann.
    answer = requests.post(f"{tarn.url}/api/v1/auth/login", json={"access_key_id": key, "secret_access_key": secret}, timeout=60)
    assert answer.status_code == 200
    page.get_by_role("button", name="I have copied it").click()
    assert secret not in page.content()
    page.reload()
    expect(page.get_by_role("button", name=f"Delete key {key}")).to_be_visible()
    assert secret not in page.content()

    window.go("/admin/permissions?user=ann&action=fs:ReadObject&resource=arn:lakefs:fs:::repository/digits/object/x")
    expect(page.get_by_role("region", name="Decision")).to_contain_text("Statement 1 of Readers allows it")
    window.review("permissions")
    page.get_by_label("Action").fill("fs:WriteObject")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("region", name="Decision")).to_contain_text("No statement of any policy of the user applies.")


def test_external_principals_are_added_and_removed(window, rest):
    rest.post("/auth/users", {"id": "robot"})
    rest.post("/auth/users", {"id": "other"})
    principal = "arn:aws:sts::123456789012:assumed-role/ci/build-0123456789abcdef0123456789abcdef0123456789"
    page = window.go("/admin/users?user=robot")
    section = page.get_by_role("region", name="External principals")
    field, add = section.get_by_role("textbox", name="Principal"), section.get_by_role("button", name="Add principal")
    expect(add).to_have_accessible_description("Enter a principal")
    field.fill(f"  {principal} ")
    add.click()
    expect(section.get_by_text(principal)).to_be_visible()
    expect(field).to_have_value("")
    assert [item["id"] for item in rest.get("/auth/users/robot/external/principals/ls")["results"]] == [principal]
    window.review("principals")
    # One principal is one user.
    window.expect_problem("409")
    window.go("/admin/users?user=other")
    field.fill(principal)
    add.click()
    expect(section.get_by_role("alert")).to_be_visible()
    expect(field).to_have_value(principal)
    window.go("/admin/users?user=robot")
    field.fill("the next one")
    section.get_by_role("button", name=f"Remove principal {principal}").click()
    expect(section.get_by_text(principal)).to_have_count(0)
    expect(field).to_have_value("the next one")
    assert rest.get("/auth/users/robot/external/principals/ls")["results"] == []


def test_a_link_gives_its_user_a_key_that_the_administrator_never_sees(window, open_window, rest):
    rest.post("/auth/users", {"id": "iris"})
    page = window.go("/admin/users?user=iris")
    page.get_by_role("button", name="Make a link for the user").click()
    shown = page.get_by_role("dialog").get_by_role("status").locator("code")
    link = shown.inner_text()
    expect(page.get_by_text("A link that admin made is open.")).to_be_visible()
    window.review("invitation-made")

    theirs = open_window()
    theirs.expect_problem("401")  # nobody is signed in there
    hers = theirs.go(link[link.index("/invitation") :])
    expect(hers.get_by_role("button", name="Make the key")).to_be_visible()
    theirs.review("invitation")
    hers.get_by_role("button", name="Make the key").click()
    expect(hers.get_by_role("heading", name="Your key, iris")).to_be_visible()
    assert "#" not in hers.url
    theirs.review("invitation-opened")
    key, secret = hers.locator("dd code").all_inner_texts()
    hers.get_by_role("button", name="sign in").click()
    expect(hers.get_by_role("button", name="Account of iris")).to_be_visible()

    page.reload()
    expect(page.get_by_role("button", name=f"Delete key {key}")).to_be_visible()
    assert secret not in page.content()
    theirs.expect_problem("404")
    hers.goto(link)
    hers.get_by_role("button", name="Make the key").click()
    expect(hers.get_by_role("alert")).to_contain_text("invitation_over")


def test_a_link_that_was_not_opened_is_withdrawn(window, rest):
    rest.post("/auth/users", {"id": "igor"})
    rest.post("/auth/users/igor/invitations", None)
    page = window.go("/admin/users?user=igor")
    page.get_by_role("button", name="Withdraw the link").click()
    expect(page.get_by_role("button", name="Make a link for the user")).to_be_visible()
    assert rest.get("/auth/users/igor/invitations")["results"] == []
