# The Java client of lakeFS and its compiler, for `./dev test --clients`.

JAVA_PACKAGES=(openjdk-17-jdk-headless maven)

# A JDK and Maven of one's own are taken as they are.
ensure_jdk() {
  { command -v javac && command -v java && command -v mvn; } >/dev/null || install_packages "${JAVA_PACKAGES[@]}"
}

# ensure_java: sets JAVA_JARS to a directory with the jars of tests/clients/java/pom.xml, keyed by that file.
ensure_java() {
  ensure_jdk || return
  JAVA_JARS=$TARN_CACHE/java-$(sha256sum <tests/clients/java/pom.xml | cut -c1-16)
  [ -f "$JAVA_JARS/.complete" ] && return
  step "fetching the Java client that tests use (once)"
  rm -rf "$JAVA_JARS" && mkdir -p "$JAVA_JARS" &&
    mvn -q -B -f tests/clients/java/pom.xml dependency:copy-dependencies "-DoutputDirectory=$JAVA_JARS" >&2 &&
    touch "$JAVA_JARS/.complete"
}

# run_java: compiles the mains and runs them; writes build/results/java.junit, whose failures the sum reads.
run_java() {
  local classes=build/java status=0
  rm -rf "$classes" && mkdir -p "$classes" build/results &&
    javac -encoding UTF-8 -Xlint:all -Xlint:-processing -Werror -d "$classes" -cp "$JAVA_JARS/*" tests/clients/java/*.java >&2 || return
  PYTHONDONTWRITEBYTECODE=1 "$PYTHON" tests/clients/java/run.py "$classes:$JAVA_JARS/*" build/results/java.junit >&2 || status=$?
  [ "$status" -le 1 ] && [ -s build/results/java.junit ]
}
