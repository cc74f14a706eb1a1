#!/bin/sh
# Judges a candidate or promotes it, and keeps one comment on the pull request with the comparison and the verdict. GitHub's
# action beside it and ../gitlab-template.yml run it. Needs tarn, curl and jq.
#
#   TARN_ENDPOINT, TARN_ACCESS_KEY, TARN_SECRET_KEY, TARN_REPO   where
#   CANDIDATE     the branch, such as pr-17
#   MODE          check (unless set) or promote
#   DESTINATION   the branch that is promoted to, main unless set
#   POLICY        the gate policy of a check, if the repository has several
#   CHAMPION      the alias to compare with, champion unless set
#   JOB           for promote: what makes this job one job however often it is started again, such as its id
#   PATIENCE      for promote: how long to wait, 30m unless set
#   GITHUB_API_URL, GITHUB_REPOSITORY, PULL_REQUEST, GH_TOKEN          where a comment goes on GitHub
#   CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID, COMMENT_TOKEN  where a note goes on GitLab
#
# Ends as `tarn gate check` or `tarn promote` ends. A comment that cannot be written is a warning.
set -eu
: "${TARN_REPO:?}" "${CANDIDATE:?}"
mode=${MODE:-check} champion=${CHAMPION:-champion}
case $mode in
  check) ;;
  promote) : "${JOB:?}" ;;
  *) echo "MODE: $mode: must be check or promote" >&2 && exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Before the first promotion there is no champion to compare with.
set --
if tarn alias show "$champion" >/dev/null 2>&1; then set -- --baseline "@$champion"; fi
tarn exp compare "$CANDIDATE" "$@" -o md >"$work/compare.md"

judge() {
  if [ "$mode" = promote ]; then
    tarn promote "$CANDIDATE" --to "${DESTINATION:-main}" --wait --timeout "${PATIENCE:-30m}" \
      --idempotency-key "$JOB-promote" --github
  elif [ -n "${POLICY:-}" ]; then
    tarn gate check "$CANDIDATE" --policy "$POLICY" --github
  else
    tarn gate check "$CANDIDATE" --github
  fi
}
status=0
judge >"$work/verdict" 2>&1 || status=$?
cat "$work/verdict"

case $status in
  0) if [ "$mode" = check ]; then result=passed; else result=promoted; fi ;;
  8) result='still running' ;;
  10) result=refused ;;
  11) result='refused: metrics are missing' ;;
  12) result='waits for checks or an approval' ;;
  *) result="failed with status $status" ;;
esac
marker="<!-- tarn: $TARN_REPO/$CANDIDATE -->"
{
  printf '%s\n**Tarn, `%s`: %s**\n\n' "$marker" "$CANDIDATE" "$result"
  cat "$work/compare.md"
  # Indented text stays as it is, whatever the names in it look like.
  printf '\n<details><summary>%s</summary>\n\n' "$mode"
  sed 's/^/    /' "$work/verdict"
  printf '\n</details>\n'
} | jq -Rs '{body: .}' >"$work/comment.json"

# send METHOD URL [FILE]
send() {
  curl --fail --silent --show-error --max-time 60 --request "$1" --header "$header" \
    --header 'Content-Type: application/json' ${3:+--data "@$3"} "$2"
}

# written LIST ONE METHOD: the comment of an earlier run is replaced, which METHOD at ONE/ID does. It is looked for on all pages.
written() {
  page=1
  while :; do
    found=$(send GET "$1?per_page=100&page=$page") || return
    id=$(printf '%s' "$found" | jq -r --arg marker "$marker" '[.[] | select(.body | startswith($marker)) | .id][0] // empty')
    if [ -n "$id" ]; then
      send "$3" "$2/$id" "$work/comment.json" >/dev/null
      return
    fi
    if [ "$(printf '%s' "$found" | jq length)" -lt 100 ]; then break; fi
    page=$((page + 1))
  done
  send POST "$1" "$work/comment.json" >/dev/null
}

if [ -n "${GH_TOKEN:-}" ] && [ -n "${PULL_REQUEST:-}" ]; then
  header="Authorization: Bearer $GH_TOKEN"
  issues="$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues"
  written "$issues/$PULL_REQUEST/comments" "$issues/comments" PATCH || echo "the comment was not written" >&2
elif [ -n "${COMMENT_TOKEN:-}" ] && [ -n "${CI_MERGE_REQUEST_IID:-}" ]; then
  header="PRIVATE-TOKEN: $COMMENT_TOKEN"
  notes="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
  written "$notes" "$notes" PUT || echo "the note was not written" >&2
fi
exit "$status"
