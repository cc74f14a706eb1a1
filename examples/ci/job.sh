#!/bin/sh
# Trains one candidate and promotes it. Needs TARN_REPO, CANDIDATE (the branch) and JOB (unique per job, stable over its retries).
set -eu
: "${TARN_REPO:?}" "${CANDIDATE:?}" "${JOB:?}"
here=$(dirname "$0")

base=$(tarn log main --amount 1 -o name)
tarn branch create "$CANDIDATE" --source "$base" --reset-if-exists --expires 14d
rm -rf out
python3 "$here/train.py"
tarn fs upload -r out/ "tarn://$TARN_REPO/$CANDIDATE/"
# Others may write to the branch too: a commit that is not of exactly these files is refused.
commit=$(tarn commit "$CANDIDATE" --expect /=out/ --expect-only --expect-head "$base" --allow-empty -m "Train in job $JOB" -o name)
tarn exp log --ref "$commit" --of-branch "$CANDIDATE" --measured /=out/ --experiment ci \
  --metric "accuracy=$(cat out/accuracy)" --artifact 'artifacts/**' --idempotency-key "$JOB-$commit"
tarn promote "$CANDIDATE" --to main --wait --timeout 30m --idempotency-key "$JOB-promote"
