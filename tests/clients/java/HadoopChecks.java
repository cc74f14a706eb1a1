import io.lakefs.clients.sdk.*;
import io.lakefs.clients.sdk.model.*;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * What the Hadoop file system of lakeFS asks a server, call by call, in its order and with its parameters: arguments
 * URL, key, secret, scheme://.
 *
 * <p>Reading and writing go through presigned URLs where the server gives them. Where it does not, the file system could
 * not write at all; its other calls are then tried on objects that were uploaded.
 */
public final class HadoopChecks {
  private static final String BRANCH = "main";
  private static final int EXISTS_AMOUNT = 5;
  private static final int LIST_AMOUNT = 1000;
  private static final int DELETE_MAX = 1000;

  /** What getFileStatus tells; null = there is none. */
  private static final class Status {
    final String path;
    final boolean directory;
    final long size;

    Status(String path, boolean directory, long size) {
      this.path = path;
      this.directory = directory;
      this.size = size;
    }
  }

  private final ObjectsApi objects;
  private final StagingApi staging;
  private final BranchesApi branches;
  private final String url;
  private final String authorization;
  private final HttpClient http = HttpClient.newHttpClient();
  private final String repo;
  private boolean presigns;

  private HadoopChecks(ApiClient client, String url, String key, String secret, String repo) {
    objects = new ObjectsApi(client);
    staging = new StagingApi(client);
    branches = new BranchesApi(client);
    this.url = url;
    this.repo = repo;
    authorization = "Basic "
        + Base64.getEncoder().encodeToString((key + ":" + secret).getBytes(StandardCharsets.UTF_8));
  }

  // The file system.

  private Status statusOf(String path) throws ApiException {
    if (path.isEmpty()) return branchExists(BRANCH) ? new Status("", true, 0) : null;
    for (String key : List.of(path, path + "/")) {
      try {
        ObjectStats stats = objects.statObject(repo, BRANCH, key).userMetadata(false).presign(false).execute();
        return new Status(path, key.endsWith("/"), stats.getSizeBytes());
      } catch (ApiException error) {
        if (error.getCode() != 404) throw error;
      }
    }
    ObjectStatsList below = objects.listObjects(repo, BRANCH).userMetadata(false).presign(false).after("").amount(1)
        .delimiter("").prefix(path + "/").execute();
    return below.getResults().isEmpty() ? null : new Status(path, true, 0);
  }

  private boolean branchExists(String ref) throws ApiException {
    try {
      branches.getBranch(repo, ref).execute();
      return true;
    } catch (ApiException error) {
      if (error.getCode() == 404) return false;
      throw error;
    }
  }

  private boolean exists(String path) throws ApiException {
    List<ObjectStats> found = objects.listObjects(repo, BRANCH).userMetadata(false).presign(false).after("")
        .amount(EXISTS_AMOUNT).delimiter("").prefix(path).execute().getResults();
    for (ObjectStats item : found) {
      if (item.getPath().equals(path) || item.getPath().startsWith(path + "/")) return true;
    }
    // Names between "path" and "path/" in byte order fill the page.
    if (found.size() < EXISTS_AMOUNT) return false;
    return !objects.listObjects(repo, BRANCH).userMetadata(false).presign(false).after("").amount(1).delimiter("")
        .prefix(path + "/").execute().getResults().isEmpty();
  }

  private List<ObjectStats> list(String path, String delimiter) throws ApiException {
    String prefix = path.isEmpty() ? "" : path + "/";
    List<ObjectStats> found = new ArrayList<>();
    String after = "";
    while (true) {
      ObjectStatsList page = objects.listObjects(repo, BRANCH).userMetadata(false).presign(false).after(after)
          .amount(LIST_AMOUNT).delimiter(delimiter).prefix(prefix).execute();
      found.addAll(page.getResults());
      if (!page.getPagination().getHasMore()) break;
      after = page.getPagination().getNextOffset();
    }
    found.removeIf(item -> item.getPath().equals(prefix));
    return found;
  }

  private List<String> names(String path) throws ApiException {
    List<String> found = new ArrayList<>();
    for (ObjectStats item : list(path, "/")) found.add(item.getPath());
    return found;
  }

  private void create(String path, String text) throws Exception {
    statusOf(path);
    put(path, text);
    removeMarkersAbove(path);
  }

  private void put(String key, String text) throws Exception {
    if (!presigns) {
      objects.uploadObject(repo, BRANCH, key).content(Checks.file(text)).execute();
      return;
    }
    StagingLocation where = staging.getPhysicalAddress(repo, BRANCH, key).presign(true).execute();
    HttpResponse<String> stored = http.send(HttpRequest.newBuilder(URI.create(where.getPresignedUrl()))
        .header("Content-Type", "application/octet-stream").header("x-ms-blob-type", "BlockBlob")
        .PUT(HttpRequest.BodyPublishers.ofString(text)).build(), HttpResponse.BodyHandlers.ofString());
    Checks.equal(200, stored.statusCode());
    String checksum = stored.headers().firstValue("Content-MD5").or(() -> stored.headers().firstValue("ETag")).orElseThrow();
    staging.linkPhysicalAddress(repo, BRANCH, key, new StagingMetadata().staging(where).checksum(checksum)
        .sizeBytes((long) text.getBytes(StandardCharsets.UTF_8).length)).execute();
  }

  private void removeMarkersAbove(String path) throws Exception {
    for (String parent = parentOf(path); !parent.isEmpty(); parent = parentOf(parent)) {
      Status status = statusOf(parent);
      if (status == null) return;
      deleteKey(parent + "/");
    }
  }

  private void mkdirs(String path) throws Exception {
    for (String at = path; !at.isEmpty(); at = parentOf(at)) {
      Status status = statusOf(at);
      Checks.that(status == null || status.directory, at + " is a file");
    }
    put(path + "/", "");
  }

  /** With a parameter that this version of the SDK does not know yet. */
  private void deleteKey(String key) throws Exception {
    String target = url + "/api/v1/repositories/" + repo + "/branches/" + BRANCH + "/objects?no_tombstone=true&path="
        + URLEncoder.encode(key, StandardCharsets.UTF_8);
    HttpResponse<String> answer = http.send(HttpRequest.newBuilder(URI.create(target))
        .header("Authorization", authorization).DELETE().build(), HttpResponse.BodyHandlers.ofString());
    Checks.equal(204, answer.statusCode());
  }

  private void keepParent(String path) throws Exception {
    String parent = parentOf(path);
    if (parent.isEmpty()) return;
    if (!objects.listObjects(repo, BRANCH).userMetadata(false).presign(false).after("").amount(EXISTS_AMOUNT)
        .delimiter("").prefix(parent + "/").execute().getResults().isEmpty()) {
      return;
    }
    try {
      objects.uploadObject(repo, BRANCH, parent + "/").ifNoneMatch("*").content(Checks.file("")).execute();
    } catch (ApiException error) {
      Checks.equal(412, error.getCode());
    }
  }

  private boolean delete(String path) throws Exception {
    Status status = statusOf(path);
    if (status == null) return false;
    if (!status.directory) {
      deleteKey(path);
    } else {
      List<String> keys = new ArrayList<>();
      for (ObjectStats item : list(path, "")) keys.add(item.getPath());
      keys.add(path + "/");
      for (int i = 0; i < keys.size(); i += DELETE_MAX) {
        List<String> batch = keys.subList(i, Math.min(keys.size(), i + DELETE_MAX));
        ObjectErrorList failures = objects.deleteObjects(repo, BRANCH, new PathList().paths(batch)).execute();
        if (!failures.getErrors().isEmpty()) return false;
      }
    }
    keepParent(path);
    return true;
  }

  private boolean rename(String from, String to) throws Exception {
    Status source = statusOf(from);
    if (source == null) return false;
    Status target = statusOf(to);
    Checks.that(target == null, to + " is there");
    if (!source.directory) {
      move(from, to);
    } else {
      for (ObjectStats item : list(from, "")) move(item.getPath(), to + item.getPath().substring(from.length()));
    }
    removeMarkersAbove(to);
    keepParent(from);
    return true;
  }

  private void move(String from, String to) throws Exception {
    objects.copyObject(repo, BRANCH, to, new ObjectCopyCreation().srcRef(BRANCH).srcPath(from)).execute();
    deleteKey(from);
  }

  private static String parentOf(String path) {
    int slash = path.lastIndexOf('/');
    return slash < 0 ? "" : path.substring(0, slash);
  }

  // The checks.

  private HttpResponse<String> get(String link, String range) throws Exception {
    return http.send(HttpRequest.newBuilder(URI.create(link)).header("Range", range).GET().build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private void run(Checks checks) {
    checks.check("create puts and links, and takes markers away", () -> {
      mkdirs("dir");
      Checks.that(statusOf("dir").directory, "dir is no directory");
      create("dir/sub/file", "0123456789");
      Checks.equal(10L, statusOf("dir/sub/file").size);
      Checks.that(statusOf("dir").directory, "dir is gone");
      Checks.refused(404, () -> objects.statObject(repo, BRANCH, "dir/").execute());
    });
    checks.check("getFileStatus of what is not there asks three times and gets no error", () ->
        Checks.equal(null, statusOf("nothing/here")));
    checks.check("getFileStatus of a root, which a branch has, a missing one not, and a commit is refused", () -> {
      Checks.that(statusOf("").directory, "no root");
      Checks.equal(false, branchExists("nope"));
      Checks.refused(400, () -> branchExists("main~1"));
    });
    checks.check("exists follows byte order", () -> {
      for (int i = 0; i < EXISTS_AMOUNT; ++i) put("busy!" + i, "x");
      put("busy/inside", "x");
      Checks.equal(true, exists("busy"));
      Checks.equal(true, exists("dir"));
      Checks.equal(false, exists("di"));
      Checks.equal(false, exists("absent"));
    });
    checks.check("listStatus and listFiles", () -> {
      for (String name : List.of("a", "b/c", "b/d/e")) put("tree/" + name, name);
      Checks.equal(List.of("tree/a", "tree/b/"), names("tree"));
      Checks.equal(3, list("tree", "").size());
      mkdirs("empty");
      Checks.equal(List.of(), names("empty"));
      Checks.equal(ObjectStats.PathTypeEnum.OBJECT, objects.statObject(repo, BRANCH, "empty/").execute().getPathType());
    });
    if (presigns) {
      checks.check("open reads ranges behind presigned links", () -> {
        String link = objects.statObject(repo, BRANCH, "dir/sub/file").userMetadata(false).presign(true).execute().getPhysicalAddress();
        HttpResponse<String> probe = get(link, "bytes=0-0");
        Checks.equal(206, probe.statusCode());
        Checks.equal("bytes 0-0/10", probe.headers().firstValue("Content-Range").orElse(""));
        Checks.equal("456789", get(link, "bytes=4-10").body());
        Checks.equal("23", get(link, "bytes=2-3").body());
      });
      checks.check("open of an empty file", () -> {
        create("empty-file", "");
        Checks.equal(0L, statusOf("empty-file").size);
        String link = objects.statObject(repo, BRANCH, "empty-file").userMetadata(false).presign(true).execute().getPhysicalAddress();
        Checks.that(get(link, "bytes=0-0").headers().firstValue("Content-Range").orElse("").indexOf("0-0/") < 0, "a range of nothing");
      });
    } else {
      checks.skip("open reads ranges behind presigned links", "the server does not presign");
      checks.check("presigning is refused, not answered 501, which would be repeated", () -> {
        Checks.refused(400, () -> objects.statObject(repo, BRANCH, "dir/sub/file").presign(true).execute());
        Checks.refused(400, () -> staging.getPhysicalAddress(repo, BRANCH, "x").presign(true).execute());
      });
    }
    checks.check("delete of the last file leaves a marker for its directory", () -> {
      create("lone/file", "x");
      Checks.equal(true, delete("lone/file"));
      Checks.that(statusOf("lone").directory, "the directory went with its file");
      Checks.equal(false, delete("lone/file"));
      keepParent("lone/file");
      objects.deleteObject(repo, BRANCH, "lone/").execute();
    });
    checks.check("the marker's If-None-Match meets one that is there", () -> {
      mkdirs("marked");
      Checks.refused(412, () -> objects.uploadObject(repo, BRANCH, "marked/").ifNoneMatch("*").content(Checks.file("")).execute());
    });
    checks.check("recursive delete goes in batches", () -> {
      for (int i = 0; i < 3; ++i) put("many/k" + i, "x");
      List<String> keys = new ArrayList<>();
      for (int i = 0; i < DELETE_MAX; ++i) keys.add("many/absent" + i);
      Checks.equal(List.of(), objects.deleteObjects(repo, BRANCH, new PathList().paths(keys)).execute().getErrors());
      Checks.equal(true, delete("many"));
      Checks.equal(null, statusOf("many"));
    });
    checks.check("rename copies and deletes", () -> {
      create("from/a", "content a");
      create("from/b/c", "content c");
      Checks.equal(true, rename("from", "to"));
      Checks.equal(null, statusOf("from/a"));
      Checks.equal("content c", Checks.text(objects.getObject(repo, BRANCH, "to/b/c").execute()));
      Checks.equal(true, rename("to/a", "to/z"));
      Checks.equal("content a", Checks.text(objects.getObject(repo, BRANCH, "to/z").execute()));
      Checks.equal(false, rename("absent", "x"));
    });
    checks.check("a commit of nothing says so", () -> {
      CommitsApi commits = new CommitsApi(objects.getApiClient());
      commits.commit(repo, BRANCH, new CommitCreation().message("m")).execute();
      try {
        commits.commit(repo, BRANCH, new CommitCreation().message("m")).execute();
        throw new AssertionError("committed");
      } catch (ApiException error) {
        Checks.equal(400, error.getCode());
        Checks.that(error.getResponseBody().contains("no changes"), error.getResponseBody());
      }
    });
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient client = Checks.client(arguments[0], arguments[1], arguments[2]);
    client.addDefaultHeader("X-Lakefs-Client", "lakefs-hadoopfs/0.2.5");
    String scheme = arguments[3];
    String repo = "java-hadoop-" + Long.toString(System.nanoTime(), 36);
    Checks checks = Checks.begin();
    RepositoriesApi repositories = new RepositoriesApi(client);
    repositories.createRepository(new RepositoryCreation().name(repo).storageNamespace(scheme + "lake/" + repo)).execute();
    HadoopChecks fs = new HadoopChecks(client, arguments[0], arguments[1], arguments[2], repo);
    checks.check("initialize finds the store", () -> {
      String id = repositories.getRepository(repo).execute().getStorageId();
      Config config = new ConfigApi(client).getConfig().execute();
      StorageConfig store = config.getStorageConfig();
      if (config.getStorageConfigList() != null && !config.getStorageConfigList().isEmpty()) {
        store = config.getStorageConfigList().stream().filter(one -> one.getBlockstoreId().equals(id == null ? "" : id))
            .findFirst().orElseThrow();
      }
      Checks.equal(scheme, store.getBlockstoreType() + "://");
      fs.presigns = store.getPreSignSupport();
    });
    fs.run(checks);
    if (scheme.equals("s3://")) {
      checks.check("simple access gets addresses in the store", () -> {
        String address = fs.objects.statObject(repo, BRANCH, "dir/sub/file").presign(false).execute().getPhysicalAddress();
        Checks.that(address.startsWith("s3://lake/" + repo + "/"), address);
      });
    }
    checks.finish();
  }
}
