#!/bin/sh
# Trains one candidate and promotes it. Needs TARN_REPO, CANDIDATE (the branch) and JOB (unique per job, stable over its retries).
set -eu
: "${TARN_REPO:?}" "${CANDIDATE:?}" "${JOB:?}"
here=$(dirname "$0")

tarn branch create "$CANDIDATE" --source main --reset-if-exists --expires 14d
rm -rf out
python3 "$here/train.py"
tarn fs upload -r out/ "tarn://$TARN_REPO/$CANDIDATE/"
tarn commit "$CANDIDATE" -m "Train in job $JOB"
tarn exp log --ref "$CANDIDATE" --experiment ci --metric "accuracy=$(cat out/accuracy)" --artifact 'artifacts/**' \
  --idempotency-key "$JOB-run"
tarn promote "$CANDIDATE" --to main --wait --timeout 30m --idempotency-key "$JOB-promote"
