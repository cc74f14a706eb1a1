#!/bin/sh
# Deletes candidate branches that nobody has committed to for a while, and spares what something still waits for: branches of
# open promotions (those that wait for checks or approvals too) and of open pull requests, and branches with uncommitted
# changes. Run it each night. Needs tarn and jq.
#
#   TARN_ENDPOINT, TARN_ACCESS_KEY, TARN_SECRET_KEY, TARN_REPO   where
#   PREFIX   of the branches that may go, such as pr-
#   DAYS     how old the newest commit is at least, 14 unless set
#   MAIN     the branch that candidates leave from, main unless set
#   DRY_RUN  1: only say what would be deleted
#
# A branch without a commit of its own is spared: its age is not known. Let it expire (tarn branch create --expires).
set -eu
: "${TARN_REPO:?}" "${PREFIX:?}"
since=$(date -u -d "${DAYS:-14} days ago" +%Y-%m-%dT%H:%M:%SZ)

# of JSON FILTER...: each answer is kept in a variable first, so that a command that fails ends the script.
of() {
  json=$1
  shift
  printf '%s' "$json" | jq -r "$@"
}

# awaited BRANCH: asked again before each deletion, for a promotion may begin meanwhile.
awaited() {
  open=$(tarn promote ls --open -o json)
  for id in $(of "$open" '.items[].id'); do
    promotion=$(tarn promote show "$id" -o json)
    if [ "$(of "$promotion" 'has("evidence")')" = false ]; then
      echo "promotion $id, which is not compared yet,"
      return
    fi
    named=$(of "$promotion" '.destination, .winner.ref // empty, .candidates[], .evidence.candidates[].ref')
    if printf '%s\n' "$named" | grep -Fxq -- "$1"; then
      echo "promotion $id"
      return
    fi
  done
  pulls=$(tarn pr list -o json)
  of "$pulls" --arg branch "$1" 'first(.items[] | select(.status == "open") |
    select($branch == .source_branch or $branch == .destination_branch) | "pull request \(.id)") // empty'
}

listed=$(tarn branch list --prefix "$PREFIX" -o json)
mainline=$(tarn log "${MAIN:-main}" --first-parent -o json)
for branch in $(of "$listed" '.items[].id'); do
  newer=$(tarn log "$branch" --amount 1 --since "$since" -o name)
  if [ -n "$newer" ]; then continue; fi
  shown=$(tarn branch show "$branch" -o json)
  own=$(of "$mainline" --arg head "$(of "$shown" .commit_id)" 'all(.items[]; .id != $head)')
  if [ "$own" = false ]; then continue; fi
  changes=$(tarn diff "$branch" -o name)
  if [ -n "$changes" ]; then
    echo "kept $branch: has uncommitted changes"
    continue
  fi
  reason=$(awaited "$branch")
  if [ -n "$reason" ]; then
    echo "kept $branch: $reason waits for it"
  elif [ "${DRY_RUN:-0}" = 1 ]; then
    echo "would delete $branch"
  else
    tarn branch delete "$branch" --yes >/dev/null
    echo "deleted $branch"
  fi
done
