import io.lakefs.clients.sdk.ApiClient;
import io.lakefs.clients.sdk.ApiException;
import io.lakefs.clients.sdk.auth.HttpBasicAuth;
import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Objects;

/** Named checks, each printed as one line: "ok NAME", "skipped NAME: why" or "FAILED NAME: why". */
final class Checks {
  interface Body {
    void run() throws Exception;
  }

  private boolean failed;

  void check(String name, Body body) {
    try {
      body.run();
      System.out.println("ok " + name);
    } catch (Throwable error) {
      failed = true;
      String what = error instanceof ApiException
          ? ((ApiException) error).getCode() + " " + ((ApiException) error).getResponseBody()
          : error.toString();
      StringWriter trace = new StringWriter();
      error.printStackTrace(new PrintWriter(trace));
      System.out.println("FAILED " + name + ": " + what.replace('\n', ' '));
      System.err.println(trace);
    }
  }

  void skip(String name, String why) {
    System.out.println("skipped " + name + ": " + why);
  }

  /** Ends the program with its status. */
  void finish() {
    System.exit(failed ? 1 : 0);
  }

  static void equal(Object expected, Object actual) {
    if (!Objects.equals(expected, actual)) throw new AssertionError(actual + " instead of " + expected);
  }

  static void that(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static void refused(int code, Body body) throws Exception {
    try {
      body.run();
    } catch (ApiException error) {
      if (error.getCode() != code) {
        throw new AssertionError(error.getCode() + " " + error.getResponseBody() + " instead of " + code);
      }
      that(error.getResponseBody().contains("\"message\""), "an error without a message");
      return;
    }
    throw new AssertionError("not refused with " + code);
  }

  /** A client as its documentation shows it. */
  static ApiClient client(String url, String key, String secret) {
    ApiClient client = new ApiClient();
    client.setBasePath(url + "/api/v1");
    HttpBasicAuth basic = (HttpBasicAuth) client.getAuthentication("basic_auth");
    basic.setUsername(key);
    basic.setPassword(secret);
    return client;
  }

  static File file(String text) throws Exception {
    File file = File.createTempFile("tarn-java", ".bin");
    file.deleteOnExit();
    Files.write(file.toPath(), text.getBytes(StandardCharsets.UTF_8));
    return file;
  }

  static String text(File file) throws Exception {
    String text = new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
    Files.delete(file.toPath());
    return text;
  }

  private Checks() {}

  static Checks begin() {
    return new Checks();
  }
}
