"""Permissions of a login's cookie, and headers for browsers on stored objects."""

import time

import clients
import pytest
import requests
from users import allow

PAGE = b"<form method=post enctype=multipart/form-data action=/api/v1/setup_lakefs>"


@pytest.fixture
def session(tarn):
    """A browser that is signed in: its cookie goes wherever the server is asked, and it adds no key."""
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(
            f"{tarn.url}/api/v1/auth/login",
            timeout=60,
            json={"access_key_id": tarn.access_key, "secret_access_key": tarn.secret_key},
        )
        assert answer.status_code == 200 and session.cookies
        yield session


def test_a_cookie_changes_nothing_for_pages_of_other_origins(tarn, repo, session):
    here = f"{tarn.url}/api/v1/repositories/{repo.id}"

    def write(**headers):
        return session.post(
            f"{here}/branches/main/objects?path=a",
            data=b"x",
            timeout=60,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )

    for attack in [
        {"Sec_Fetch_Site": "cross-site", "Origin": "https://evil.test"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
    ]:
        assert write(**attack).status_code == 403, attack
        login = requests.post(
            f"{tarn.url}/api/v1/auth/login",
            timeout=60,
            json={"access_key_id": tarn.access_key, "secret_access_key": tarn.secret_key},
            headers={name.replace("_", "-"): value for name, value in attack.items()},
        )
        assert login.status_code == 403 and not login.cookies, attack
    branch = session.post(
        f"{here}/branches", data='{"name": "planted", "source": "main"}', timeout=60, headers={"Content-Type": "text/plain;json"}
    )
    assert branch.status_code == 400
    assert [b.id for b in repo.branches()] == ["main"]
    assert write(Sec_Fetch_Site="same-origin").status_code == 201
    assert write(Origin=tarn.url).status_code == 201
    assert write().status_code == 201


def seconds_until(status, ask):
    begin = time.monotonic()
    while ask() != status and time.monotonic() - begin < 10:
        time.sleep(0.05)
    return time.monotonic() - begin


def test_a_session_ends_with_its_key_and_at_the_logout(tarn, make_user):
    user = make_user(allow(["fs:*"], "*"))
    rest, base = clients.Rest(tarn), f"{tarn.url}/api/v1"

    def log_in():
        key = rest("POST", f"/auth/users/{user.name}/credentials").json()
        login = requests.post(
            f"{base}/auth/login",
            timeout=60,
            json={"access_key_id": key["access_key_id"], "secret_access_key": key["secret_access_key"]},
        )
        assert login.status_code == 200
        assert login.json()["token_expiration"] - time.time() == pytest.approx(12 * 3600, abs=60)
        bearer = {"Authorization": f"Bearer {login.json()['token']}"}
        return (
            key["access_key_id"],
            login.cookies,
            lambda: requests.get(f"{base}/repositories", headers=bearer, timeout=60).status_code,
        )

    key_id, _, ask = log_in()
    assert ask() == 200
    assert rest("DELETE", f"/auth/users/{user.name}/credentials/{key_id}").status_code == 204
    assert seconds_until(401, ask) <= 3
    _, cookies, ask = log_in()
    for headers in [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.test"}]:
        forged = requests.get(f"{tarn.url}/logout", cookies=cookies, headers=headers, timeout=60, allow_redirects=False)
        assert (forged.status_code, ask()) == (403, 200)
    out = requests.get(f"{tarn.url}/logout", cookies=cookies, timeout=60, allow_redirects=False)
    assert (out.status_code, out.headers["Location"]) == (303, "/")
    assert seconds_until(401, ask) <= 3
    assert log_in()[2]() == 200


def test_browsers_run_nothing_that_is_stored(tarn, repo, session):
    rest, here = clients.Rest(tarn), f"/repositories/{repo.id}"
    for path, content_type in [("page.html", "text/html"), ("drawing.svg", "image/svg+xml"), ("code.js", "text/javascript")]:
        put = rest("POST", f"{here}/branches/main/objects?path={path}", data=PAGE, headers={"Content-Type": content_type})
        assert put.status_code == 201
        url = rest("GET", f"{here}/refs/main/objects/stat?path={path}&presign=true").json()["physical_address"]
        assert "/_blocks/" in url
        shown = session.get(f"{rest.url}{here}/refs/main/objects?path={path}", timeout=60)
        for answer in [shown, requests.get(url, timeout=60)]:
            assert (answer.status_code, answer.content) == (200, PAGE)
            assert answer.headers["Content-Type"] == content_type
            assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
            assert "; sandbox; form-action 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
