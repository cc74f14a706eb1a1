// Access control lists, ownership controls and public-access blocks, as they are read and written.
#include "s3gateway/xml/bucket_documents.h"

#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"

namespace tarn::s3::xml {
namespace {

const Owner kOwner{"id", "name"};
const std::string kHead =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<AccessControlPolicy "
    "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Owner><ID>id</ID>"
    "<DisplayName>name</DisplayName></Owner><AccessControlList><Grant>"
    "<Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
    "xsi:type=\"CanonicalUser\"><ID>id</ID><DisplayName>name</DisplayName></Grantee>"
    "<Permission>FULL_CONTROL</Permission></Grant>";
const std::string kEverybody =
    "<Grant><Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"Group\">"
    "<URI>http://acs.amazonaws.com/groups/global/AllUsers</URI></Grantee>"
    "<Permission>READ</Permission></Grant>";
const std::string kTail = "</AccessControlList></AccessControlPolicy>";

/// The code that reading ends with, or "".
template <typename Parse>
std::string code_of(Parse parse) {
  try {
    parse();
  } catch (const Refusal& refusal) {
    return std::string(refusal.failure().code);
  }
  return "";
}

TEST(Acl, IsWrittenAndReadBack) {
  EXPECT_EQ(acl_to_xml(kOwner, false), kHead + kTail);
  EXPECT_EQ(acl_to_xml(kOwner, true), kHead + kEverybody + kTail);
  EXPECT_EQ(parse_acl(kHead + kTail, kOwner), AclGrants::kOwner);
  EXPECT_EQ(parse_acl(kHead + kEverybody + kTail, kOwner), AclGrants::kPublicRead);
}

TEST(Acl, UnknownGrantsAreNeitherPrivateNorPublicRead) {
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = kHead + kEverybody + kTail;
    text.replace(text.find(from), from.size(), to);
    return parse_acl(text, kOwner);
  };
  EXPECT_EQ(changed("<DisplayName>name</DisplayName>", ""), AclGrants::kPublicRead);
  for (const char* permission : {"WRITE", "FULL_CONTROL", "READ_ACP", "WRITE_ACP", "read", ""}) {
    EXPECT_EQ(changed(">READ<", ">" + std::string(permission) + "<"), AclGrants::kPublic)
        << permission;
  }
  EXPECT_EQ(changed("global/AllUsers", "global/AuthenticatedUsers"), AclGrants::kPublic);
  EXPECT_EQ(changed("global/AllUsers", "s3/LogDelivery"), AclGrants::kOther);
  EXPECT_EQ(changed("<URI>", "<ID>id</ID><URI>"), AclGrants::kPublic);
  EXPECT_EQ(changed("<URI>", "<EmailAddress>a@b</EmailAddress><URI>"), AclGrants::kPublic);
  // Lists that everybody is in and the owner is not, or that name another owner.
  EXPECT_EQ(changed("FULL_CONTROL", "READ"), AclGrants::kPublic);
  EXPECT_EQ(changed("<ID>id</ID>", "<ID>other</ID>"), AclGrants::kPublic);
  EXPECT_EQ(changed("</AccessControlList>",
                    "<Grant><Grantee><ID>other</ID></Grantee><Permission>READ</Permission></Grant>"
                    "</AccessControlList>"),
            AclGrants::kPublic);
  EXPECT_EQ(parse_acl("<AccessControlPolicy/>", kOwner), AclGrants::kOther);
  EXPECT_EQ(code_of([&] { changed("<Grant>", "<Deny/><Grant>"); }), "MalformedXML");
}

TEST(OwnershipControls, HaveExactlyOneRule) {
  for (const ObjectOwnership ownership :
       {ObjectOwnership::kBucketOwnerEnforced, ObjectOwnership::kBucketOwnerPreferred,
        ObjectOwnership::kObjectWriter}) {
    EXPECT_EQ(parse_ownership_controls(ownership_controls_to_xml(ownership)), ownership);
  }
  const std::string rule = "<Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule>";
  for (const std::string& inside :
       {std::string(), rule + rule, std::string("<Rule/>"),
        std::string("<Rule><ObjectOwnership>objectwriter</ObjectOwnership></Rule>"),
        std::string("<Other/>")}) {
    const std::string text = "<OwnershipControls>" + inside + "</OwnershipControls>";
    EXPECT_EQ(code_of([&] { parse_ownership_controls(text); }), "MalformedXML") << text;
  }
}

TEST(PublicAccessBlock, IsFourSwitches) {
  const auto parse = [](const std::string& inside) {
    return parse_public_access_block("<PublicAccessBlockConfiguration>" + inside +
                                     "</PublicAccessBlockConfiguration>");
  };
  const PublicAccessBlock all{true, true, true, true};
  EXPECT_EQ(parse_public_access_block(public_access_block_to_xml(all)), all);
  const PublicAccessBlock one{.ignore_public_acls = true};
  EXPECT_EQ(parse("<IgnorePublicAcls>TRUE</IgnorePublicAcls>"
                  "<BlockPublicPolicy>False</BlockPublicPolicy>"),
            one);
  EXPECT_EQ(parse_public_access_block(public_access_block_to_xml(one)), one);
  EXPECT_EQ(code_of([&] { parse(""); }), "InvalidRequest");
  EXPECT_EQ(code_of([&] { parse("<BlockPublicAcls>1</BlockPublicAcls>"); }), "MalformedXML");
  EXPECT_EQ(code_of([&] { parse("<BlockEverything>true</BlockEverything>"); }), "MalformedXML");
}

}  // namespace
}  // namespace tarn::s3::xml
