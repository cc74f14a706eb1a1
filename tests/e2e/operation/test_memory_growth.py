"""An hour of mixed load: the memory of the server is bounded and stops growing.

TARN_TEST_MINUTES sets another length. The load is paced, so that it is the same on every machine.
"""

import os
import random
import statistics
import threading
import time
import uuid

import clients
import pytest
import servers

MIB = 1 << 20
NODE_CACHE = 64 * MIB
WORKERS = 6
STEP_SECONDS = 0.03  # of one worker
SAMPLES = 120  # over the whole run
GROWTH_MAX = 48 * MIB  # from the second to the last quarter
IMPORTED = 300


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


class Worker(threading.Thread):
    """One user of a branch of their own, who does now and then what is rare."""

    def __init__(self, server, repo, number, stop):
        super().__init__()
        self.server, self.repo, self.branch, self.stop = server, repo, f"work-{number}", stop
        self.rest, self.s3 = clients.Rest(server), clients.boto3_client(server)
        self.random = random.Random(number)
        self.written, self.done, self.failure = [], 0, None

    def run(self):
        try:
            self.call(201, "POST", "/branches", json={"name": self.branch, "source": "main"})
            while not self.stop.is_set():
                self.step()
                self.done += 1
                time.sleep(STEP_SECONDS)
        except Exception as failure:  # the test raises it
            self.failure = failure
            self.stop.set()

    def call(self, status, method, path, **options):
        answer = self.rest(method, f"/repositories/{self.repo}{path}", **options)
        assert answer.status_code == status, (method, path, answer.status_code, answer.text)
        return answer

    def step(self):
        dice = self.random.random()
        for chance, action in (
            (0.35, self.put),
            (0.3, self.get),
            (0.1, self.stat),
            (0.1, self.list),
            (0.03, self.remove),
            (0.04, self.commit),
            (0.02, self.log),
            (0.02, self.diff),
            (0.02, self.search),
            (0.01, self.merge),
            (0.005, self.upload_parts),
            (0.005, self.import_source),
        ):
            dice -= chance
            if dice < 0:
                return action()
        return self.list()

    def key(self):
        return f"d{self.random.randrange(50):02}/f{self.random.randrange(400):03}"

    def put(self):
        key = self.key()
        self.s3.put_object(
            Bucket=self.repo,
            Key=f"{self.branch}/{key}",
            Body=os.urandom(self.random.choice((10, 1000, 60_000))),
            Metadata={"run": uuid.uuid4().hex},
        )
        self.written = [*(one for one in self.written[-200:] if one != key), key]

    def get(self):
        if self.written:
            key = self.random.choice(self.written)
            self.s3.get_object(Bucket=self.repo, Key=f"{self.branch}/{key}")["Body"].read()

    def stat(self):
        self.rest("GET", f"/repositories/{self.repo}/refs/main/objects/stat", params={"path": self.key()})

    def list(self):
        self.s3.list_objects_v2(Bucket=self.repo, Prefix=f"{self.branch}/d{self.random.randrange(50):02}/", MaxKeys=300)

    def remove(self):
        if self.written:
            self.s3.delete_object(Bucket=self.repo, Key=f"{self.branch}/{self.written.pop(0)}")

    def commit(self):
        answer = self.rest(
            "POST",
            f"/repositories/{self.repo}/branches/{self.branch}/commits",
            json={"message": "work", "metadata": {"by": self.branch}},
        )
        assert answer.status_code in (201, 400), answer.text  # 400: nothing was staged

    def log(self):
        self.call(200, "GET", f"/refs/{self.branch}/commits", params={"amount": 50, "objects": self.key()})

    def diff(self):
        self.call(200, "GET", f"/refs/main/diff/{self.branch}", params={"amount": 200})

    def search(self):
        self.call(200, "GET", f"/refs/{self.branch}/objects/search", params={"glob": f"**/f{self.random.randrange(400):03}"})

    def merge(self):
        self.commit()
        answer = self.rest("POST", f"/repositories/{self.repo}/refs/{self.branch}/merge/main", json={"strategy": "source-wins"})
        assert answer.status_code in (200, 400), answer.text  # 400: nothing to merge
        name = f"side-{uuid.uuid4().hex}"
        self.call(201, "POST", "/branches", json={"name": name, "source": "main"})
        self.call(204, "DELETE", f"/branches/{name}")

    def upload_parts(self):
        place = {"Bucket": self.repo, "Key": f"{self.branch}/{self.key()}"}
        upload = self.s3.create_multipart_upload(**place)["UploadId"]
        part = self.s3.upload_part(**place, UploadId=upload, PartNumber=1, Body=os.urandom(2 * MIB))
        if self.random.random() < 0.5:
            self.s3.abort_multipart_upload(**place, UploadId=upload)
        else:
            self.s3.complete_multipart_upload(
                **place, UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
            )

    def import_source(self):
        self.commit()
        path = {"path": f"local://{self.server.import_root}/", "destination": "raw/", "type": "common_prefix"}
        self.call(202, "POST", f"/branches/{self.branch}/import", json={"paths": [path], "commit": {"message": "raw"}})


def test_memory_stops_growing_under_mixed_load(scratch_dir, initialised_data, name, long_tests):
    if not long_tests:
        pytest.skip("an hour: only with --long")
    seconds = 60 * float(os.environ.get("TARN_TEST_MINUTES", "60"))
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_CACHE_NODE_BYTES": str(NODE_CACHE)})
    server.copy_data_of(initialised_data).start()
    for number in range(IMPORTED):
        (server.import_root / f"raw-{number:03}").write_bytes(b"raw")
    stop = threading.Event()
    try:
        made = clients.Rest(server)("POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"})
        assert made.status_code == 201, made.text
        workers = [Worker(server, name, number, stop) for number in range(WORKERS)]
        for worker in workers:
            worker.start()
        samples, begin = [], time.monotonic()
        while time.monotonic() - begin < seconds and not stop.wait(seconds / SAMPLES):
            samples.append(resident_bytes(server.process.pid))
            if len(samples) % (SAMPLES // 6) == 0:  # old commits and files go while the rest works
                asked = clients.Rest(server)("POST", f"/repositories/{name}/gc/runs", json={})
                assert asked.status_code in (202, 409), asked.text  # 409: the one before is running
        stop.set()
        for worker in workers:
            worker.join()
        failed = [worker.failure for worker in workers if worker.failure]
        assert not failed, failed
    finally:
        stop.set()
        if server.alive():
            server.stop()
    quarter = len(samples) // 4
    second, last = (statistics.median(samples[at * quarter : (at + 1) * quarter]) for at in (1, 3))
    said = f"{sum(w.done for w in workers)} steps; MiB: {[round(one / MIB) for one in samples[:: max(1, len(samples) // 20)]]}"
    print(said)
    assert last - second < GROWTH_MAX, said
    assert max(samples) < 1024 * MIB + NODE_CACHE, said
