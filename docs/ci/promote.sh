#!/bin/sh
# One candidate from data to champion: branch, upload, train, commit, record, compare, promote. Any CI that has a shell.
#
#   TARN_ENDPOINT, TARN_ACCESS_KEY, TARN_SECRET_KEY, TARN_REPO   where
#   CANDIDATE   the branch, one for each pull request, such as pr-17
#   JOB         what makes this job one job however often it is started again, such as its id
#   TRAIN       the program that trains: reads data/, writes out/ with out/metrics/metrics.json and out/artifacts/
#   GIT_SHA, CI_URL   optional, for the record
#
# Ends as `tarn promote` ends: 0 promoted, 8 still running, 10 refused, 11 a metric is missing, 12 waits for an approval;
# or with 6 or 7 if somebody else wrote to the branch meanwhile.
set -eu
: "${TARN_REPO:?}" "${CANDIDATE:?}" "${JOB:?}" "${TRAIN:?}"
here="tarn://$TARN_REPO/$CANDIDATE"

# The branch begins anew for each run and goes away by itself when nobody cleans up.
base=$(tarn log main --amount 1 -o name)
tarn branch create "$CANDIDATE" --source "$base" --reset-if-exists --expires 14d
mkdir -p data
tarn fs upload -r data/ "$here/data/"
$TRAIN
tarn fs upload -r out/ "$here/"
# Others may write to the branch too: a commit that is not of exactly these files is refused.
commit=$(tarn commit "$CANDIDATE" --expect /=out/ --expect data/=data/ --expect-only --expect-head "$base" --allow-empty \
  -m "Train ${GIT_SHA:-by hand}" -o name)
tarn exp log --ref "$commit" --of-branch "$CANDIDATE" --measured artifacts/=out/artifacts/ --experiment ci \
  --metric "accuracy=$(cat out/accuracy)" --artifact 'artifacts/**' --git-sha "${GIT_SHA:-}" --ci-url "${CI_URL:-}" \
  --idempotency-key "$JOB-$commit"

# Before the first promotion there is no champion to compare with.
if tarn alias show champion >/dev/null 2>&1; then baseline='--baseline @champion'; else baseline=; fi
# shellcheck disable=SC2086
tarn exp compare "$CANDIDATE" $baseline -o md >compare.md

# Under its key the same promotion is found again: a job that was started again waits for the one that it began.
status=0
tarn promote "$CANDIDATE" --to main --wait --timeout "${PATIENCE:-30m}" --idempotency-key "$JOB-promote" || status=$?
case $status in
  8) echo "still running; start this job's last step again to go on waiting" >&2 ;;
  12) echo "waits for somebody else's approval: tarn promote approve ID -m WHY" >&2 ;;
esac
exit "$status"
