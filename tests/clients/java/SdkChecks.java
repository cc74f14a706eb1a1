import io.lakefs.clients.sdk.*;
import io.lakefs.clients.sdk.model.*;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The unmodified Java client against a server: arguments URL, key, secret, scheme://, the URL of a directory to import
 * that holds the objects "one" and "two".
 *
 * <p>Its models demand every required field and refuse unknown values of enumerations, which no other client here does.
 */
public final class SdkChecks {
  private static final int IMPORT_POLLS_MAX = 600;

  public static void main(String[] arguments) {
    String url = arguments[0];
    String scheme = arguments[3];
    String source = arguments[4];
    ApiClient client = Checks.client(url, arguments[1], arguments[2]);
    Checks checks = Checks.begin();
    RepositoriesApi repositories = new RepositoriesApi(client);
    BranchesApi branches = new BranchesApi(client);
    ObjectsApi objects = new ObjectsApi(client);
    CommitsApi commits = new CommitsApi(client);
    RefsApi refs = new RefsApi(client);
    TagsApi tags = new TagsApi(client);
    String repo = "java-sdk-" + Long.toString(System.nanoTime(), 36);
    Map<String, String> ids = new HashMap<>();

    checks.check("configuration", () -> {
      Config config = new ConfigApi(client).getConfig().execute();
      Checks.that(config.getVersionConfig().getVersion() != null, "no version");
      Checks.equal(scheme, config.getStorageConfig().getBlockstoreType() + "://");
      Checks.that(!config.getStorageConfig().getBlockstoreNamespaceValidityRegex().isEmpty(), "no namespace pattern");
    });
    checks.check("wrong credentials are 401", () ->
        Checks.refused(401, () -> new ConfigApi(Checks.client(url, "AKIANOBODY", "wrong")).getConfig().execute()));
    checks.check("a repository is created once", () -> {
      RepositoryCreation creation =
          new RepositoryCreation().name(repo).storageNamespace(scheme + "lake/" + repo).defaultBranch("main");
      Repository made = repositories.createRepository(creation).execute();
      Checks.equal(repo, made.getId());
      Checks.equal("main", made.getDefaultBranch());
      Checks.refused(409, () -> repositories.createRepository(creation).execute());
      Checks.refused(400, () -> repositories.createRepository(new RepositoryCreation().name("A_b")
          .storageNamespace(scheme + "lake/other")).execute());
      Checks.equal(made, repositories.getRepository(repo).execute());
      Checks.refused(404, () -> repositories.getRepository("no-such-repository").execute());
      RepositoryList list = repositories.listRepositories().prefix(repo).amount(1).execute();
      Checks.equal(repo, list.getResults().get(0).getId());
      Checks.equal(false, list.getPagination().getHasMore());
    });
    checks.check("objects are uploaded, read, described and listed", () -> {
      for (String path : List.of("a.txt", "d/b", "d/ümlaut +&=?.bin")) {
        ObjectStats stats = objects.uploadObject(repo, "main", path).content(Checks.file("content of " + path)).execute();
        Checks.equal(path, stats.getPath());
        Checks.equal(ObjectStats.PathTypeEnum.OBJECT, stats.getPathType());
        Checks.equal("content of " + path, Checks.text(objects.getObject(repo, "main", path).execute()));
        Checks.equal(stats.getChecksum(), objects.statObject(repo, "main", path).execute().getChecksum());
        objects.headObject(repo, "main", path).execute();
      }
      Checks.equal("nt", Checks.text(objects.getObject(repo, "main", "a.txt").range("bytes=2-3").execute()));
      Checks.refused(416, () -> objects.getObject(repo, "main", "a.txt").range("bytes=1000-").execute());
      Checks.refused(412, () -> objects.uploadObject(repo, "main", "a.txt").ifNoneMatch("*").content(Checks.file("x")).execute());
      Checks.refused(404, () -> objects.statObject(repo, "main", "nope").execute());
      Checks.refused(400, () -> objects.statObject(repo, "main x", "a.txt").execute());
      ObjectStatsList top = objects.listObjects(repo, "main").delimiter("/").execute();
      Checks.equal(List.of("a.txt", "d/"), paths(top));
      Checks.equal(ObjectStats.PathTypeEnum.COMMON_PREFIX, top.getResults().get(1).getPathType());
      ObjectStatsList page = objects.listObjects(repo, "main").amount(2).execute();
      Checks.equal(true, page.getPagination().getHasMore());
      page = objects.listObjects(repo, "main").after(page.getPagination().getNextOffset()).execute();
      Checks.equal(List.of("d/ümlaut +&=?.bin"), paths(page));
    });
    checks.check("user metadata is replaced", () -> {
      objects.updateObjectUserMetadata(repo, "main", "a.txt",
          new UpdateObjectUserMetadata().set(Map.of("Owner", "me"))).execute();
      Checks.equal(Map.of("Owner", "me"), objects.statObject(repo, "main", "a.txt").execute().getMetadata());
      Checks.equal(Map.of(), objects.statObject(repo, "main", "a.txt").userMetadata(false).execute().getMetadata());
    });
    checks.check("changes are committed", () -> {
      DiffList changes = branches.diffBranch(repo, "main").execute();
      Checks.equal(3, changes.getResults().size());
      Checks.equal(Diff.TypeEnum.ADDED, changes.getResults().get(0).getType());
      Commit made = commits.commit(repo, "main", new CommitCreation().message("first").putMetadataItem("k", "v")).execute();
      Checks.equal("first", made.getMessage());
      Checks.equal("v", made.getMetadata().get("k"));
      Checks.equal(made, commits.getCommit(repo, made.getId()).execute());
      Checks.equal(made.getId(), branches.getBranch(repo, "main").execute().getCommitId());
      Checks.refused(400, () -> commits.commit(repo, "main", new CommitCreation().message("nothing")).execute());
      Checks.refused(404, () -> commits.getCommit(repo, "nope").execute());
      ids.put("first", made.getId());
    });
    checks.check("branches", () -> {
      // The one answer that is plain text.
      Checks.equal(ids.get("first"), branches.createBranch(repo, new BranchCreation().name("dev").source("main")).execute());
      Checks.refused(409, () -> branches.createBranch(repo, new BranchCreation().name("dev").source("main")).execute());
      Checks.refused(404, () -> branches.createBranch(repo, new BranchCreation().name("x").source("nope")).execute());
      Checks.equal(List.of("dev", "main"), branches.listBranches(repo).execute().getResults().stream().map(Ref::getId)
          .collect(Collectors.toList()));
      objects.uploadObject(repo, "dev", "reset/me").content(Checks.file("x")).execute();
      branches.resetBranch(repo, "dev", new ResetCreation().type(ResetCreation.TypeEnum.COMMON_PREFIX).path("reset/")).execute();
      Checks.equal(0, branches.diffBranch(repo, "dev").execute().getResults().size());
      Checks.refused(403, () -> branches.deleteBranch(repo, "main").execute());
      Checks.refused(404, () -> branches.deleteBranch(repo, "nope").execute());
    });
    checks.check("differences and merges", () -> {
      objects.uploadObject(repo, "dev", "dev.txt").content(Checks.file("dev")).execute();
      objects.deleteObject(repo, "dev", "d/b").execute();
      commits.commit(repo, "dev", new CommitCreation().message("dev")).execute();
      DiffList changes = refs.diffRefs(repo, "main", "dev").execute();
      Checks.equal(List.of(Diff.TypeEnum.REMOVED, Diff.TypeEnum.ADDED),
          changes.getResults().stream().map(Diff::getType).collect(Collectors.toList()));
      Checks.equal(ids.get("first"), refs.findMergeBase(repo, "dev", "main").execute().getBaseCommitId());
      String merged = refs.mergeIntoBranch(repo, "dev", "main").merge(new Merge().message("merged")).execute().getReference();
      Commit commit = commits.getCommit(repo, merged).execute();
      Checks.equal("merged", commit.getMessage());
      Checks.equal(2, commit.getParents().size());
      Checks.refused(400, () -> refs.mergeIntoBranch(repo, "dev", "main").execute());
    });
    checks.check("a conflict is 409", () -> {
      for (String branch : List.of("main", "dev")) {
        objects.uploadObject(repo, branch, "a.txt").content(Checks.file("by " + branch)).execute();
        commits.commit(repo, branch, new CommitCreation().message("by " + branch)).execute();
      }
      try {
        refs.mergeIntoBranch(repo, "dev", "main").execute();
        throw new AssertionError("no conflict");
      } catch (ApiException error) {
        Checks.equal(409, error.getCode());
        Checks.that(error.getResponseBody().contains("\"reference\":\"\""), error.getResponseBody());
      }
      Checks.equal(Diff.TypeEnum.CONFLICT, refs.diffRefs(repo, "main", "dev").type("three_dot").execute().getResults().get(0).getType());
      refs.mergeIntoBranch(repo, "dev", "main").merge(new Merge().strategy("source-wins")).execute();
      Checks.equal("by dev", Checks.text(objects.getObject(repo, "main", "a.txt").execute()));
    });
    checks.check("the log", () -> {
      CommitList log = refs.logCommits(repo, "main").amount(2).execute();
      Checks.equal(true, log.getPagination().getHasMore());
      List<Commit> all = new ArrayList<>(log.getResults());
      while (log.getPagination().getHasMore()) {
        log = refs.logCommits(repo, "main").amount(2).after(log.getPagination().getNextOffset()).execute();
        all.addAll(log.getResults());
      }
      Checks.equal(7, all.size());
      Checks.equal("dev", refs.logCommits(repo, "main").amount(1).limit(true).objects(List.of("dev.txt")).execute()
          .getResults().get(0).getMessage());
      Checks.equal(0, refs.logCommits(repo, "main").since(OffsetDateTime.now().plusDays(1)).execute().getResults().size());
      Checks.refused(404, () -> refs.logCommits(repo, "nope").execute());
    });
    checks.check("tags", () -> {
      Checks.equal(ids.get("first"), tags.createTag(repo, new TagCreation().id("v1").ref(ids.get("first"))).execute().getCommitId());
      Checks.refused(409, () -> tags.createTag(repo, new TagCreation().id("v1").ref("main")).execute());
      Checks.equal("v1", tags.listTags(repo).execute().getResults().get(0).getId());
      Checks.equal("content of d/b", Checks.text(objects.getObject(repo, "v1", "d/b").execute()));
      Checks.equal(ids.get("first"), tags.getTag(repo, "v1").execute().getCommitId());
      tags.deleteTag(repo, "v1").execute();
      Checks.refused(404, () -> tags.getTag(repo, "v1").execute());
    });
    checks.check("revert and cherry-pick", () -> {
      objects.uploadObject(repo, "main", "bad").content(Checks.file("bad")).execute();
      Commit bad = commits.commit(repo, "main", new CommitCreation().message("bad")).execute();
      branches.revertBranch(repo, "main", new RevertCreation().ref(bad.getId()).parentNumber(0)).execute();
      Checks.refused(404, () -> objects.statObject(repo, "main", "bad").execute());
      Commit picked = branches.cherryPick(repo, "dev", new CherryPickCreation().ref(bad.getId()).parentNumber(1)).execute();
      Checks.equal("bad", picked.getMessage());
      Checks.equal("bad", Checks.text(objects.getObject(repo, "dev", "bad").execute()));
      Checks.refused(404, () -> branches.revertBranch(repo, "main", new RevertCreation().ref("nope").parentNumber(0)).execute());
    });
    checks.check("objects are copied and deleted in one request", () -> {
      ObjectStats copy = objects.copyObject(repo, "main", "copied", new ObjectCopyCreation().srcPath("a.txt").srcRef("dev")).execute();
      Checks.equal("copied", copy.getPath());
      Checks.equal(List.of(), objects.deleteObjects(repo, "main", new PathList().paths(List.of("copied", "absent"))).execute().getErrors());
      Checks.refused(404, () -> objects.statObject(repo, "main", "copied").execute());
      List<String> many = new ArrayList<>();
      for (int i = 0; i <= 1000; ++i) many.add("k" + i);
      Checks.refused(400, () -> objects.deleteObjects(repo, "main", new PathList().paths(many)).execute());
      commits.commit(repo, "main", new CommitCreation().message("settled").allowEmpty(true)).execute();
    });
    checks.check("an import", () -> {
      ImportApi imports = new ImportApi(client);
      String id = imports.importStart(repo, "main", new ImportCreation()
          .addPathsItem(new ImportLocation().type(ImportLocation.TypeEnum.COMMON_PREFIX).path(source).destination("in/"))
          .commit(new CommitCreation().message("imported"))).execute().getId();
      ImportStatus status = imports.importStatus(repo, "main", id).execute();
      for (int i = 0; i < IMPORT_POLLS_MAX && !status.getCompleted() && status.getError() == null; ++i) {
        Thread.sleep(50);
        status = imports.importStatus(repo, "main", id).execute();
      }
      Checks.that(status.getError() == null, String.valueOf(status.getError()));
      Checks.equal(2L, status.getIngestedObjects());
      Checks.equal("imported", status.getCommit().getMessage());
      Checks.equal("one", Checks.text(objects.getObject(repo, "main", "in/one").execute()));
      Checks.refused(409, () -> imports.importCancel(repo, "main", id).execute());
      Checks.refused(404, () -> imports.importStatus(repo, "main", "nope").execute());
    });
    checks.check("users", () -> {
      AuthApi auth = new AuthApi(client);
      Checks.equal("admin", auth.getCurrentUser().execute().getUser().getId());
      auth.createUser().userCreation(new UserCreation().id(repo)).execute();
      Checks.refused(409, () -> auth.createUser().userCreation(new UserCreation().id(repo)).execute());
      CredentialsWithSecret key = auth.createCredentials(repo).execute();
      ApiClient theirs = Checks.client(url, key.getAccessKeyId(), key.getSecretAccessKey());
      Checks.equal(repo, new AuthApi(theirs).getCurrentUser().execute().getUser().getId());
      // A missing permission is 401 in this format.
      Checks.refused(401, () -> new RepositoriesApi(theirs).deleteRepository(repo).execute());
      String token = auth.login().loginInformation(new LoginInformation().accessKeyId(key.getAccessKeyId())
          .secretAccessKey(key.getSecretAccessKey())).execute().getToken();
      ApiClient bearer = new ApiClient();
      bearer.setBasePath(url + "/api/v1");
      bearer.setBearerToken(token);
      Checks.equal(repo, new AuthApi(bearer).getCurrentUser().execute().getUser().getId());
      auth.deleteUser(repo).execute();
    });
    checks.check("a repository is deleted", () -> {
      repositories.deleteRepository(repo).execute();
      Checks.refused(404, () -> repositories.deleteRepository(repo).execute());
    });
    checks.finish();
  }

  private static List<String> paths(ObjectStatsList list) {
    return list.getResults().stream().map(ObjectStats::getPath).collect(Collectors.toList());
  }
}
