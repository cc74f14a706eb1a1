// The verbs of with_minio_js.py.
const minio = require("minio");
const { bytesOf, serve } = require("./client_child.cjs");

let made;
function client(box) {
  const { hostname, port } = new URL(box.url);
  made ??= new minio.Client({
    endPoint: hostname, port: Number(port), useSSL: false, accessKey: box.access_key, secretKey: box.secret_key,
  });
  return made;
}

async function list(box, prefix, recursive) {
  const found = [];
  for await (const entry of client(box).listObjectsV2(box.repo, prefix, recursive)) found.push(entry.name ?? entry.prefix);
  return found;
}

const verbs = {
  async repositories(box) {
    return (await client(box).listBuckets()).map((bucket) => bucket.name);
  },
  async make_bucket(box, name) {
    await client(box).makeBucket(name, "us-east-1");
  },
  async remove_bucket(box, name) {
    await client(box).removeBucket(name);
  },
  async put(box, files) {
    for (const [key, path] of Object.entries(files)) await client(box).fPutObject(box.repo, key, path);
  },
  async get(box, files) {
    for (const [key, path] of Object.entries(files)) await client(box).fGetObject(box.repo, key, path);
  },
  async get_range(box, key, first, count) {
    return bytesOf(await client(box).getPartialObject(box.repo, key, first, count));
  },
  list_directory: (box, prefix) => list(box, prefix, false),
  list_all: (box, prefix) => list(box, prefix, true),
  async rename(box, source, target) {
    for (const key of await list(box, source, true)) {
      await client(box).copyObject(box.repo, key.replace(source, target), `/${box.repo}/${key}`);
      await client(box).removeObject(box.repo, key);
    }
  },
  async delete(box, keys) {
    await client(box).removeObjects(box.repo, keys);
  },
  async delete_directory(box, prefix) {
    await verbs.delete(box, await list(box, prefix, true));
  },
  presign: (box, key) => client(box).presignedGetObject(box.repo, key, 3600),
  async refused(box, key, path) {
    try {
      await client(box).fPutObject(box.repo, key, path);
    } catch (error) {
      if (!(error instanceof minio.S3Error) || error.code !== "MethodNotAllowed") throw error;
      return error.message;
    }
    return null;
  },
};

// Above its part size (64 MiB): begins with a listing of unfinished uploads.
verbs.also_goes_on_after_an_unfinished_upload = async (box) => {
  const { writeFileSync } = require("node:fs");
  const file = `${box.scratch}/large`;
  writeFileSync(file, Buffer.alloc(66 * 1024 * 1024, "x"));
  await client(box).initiateNewMultipartUpload(box.repo, "dev/large", {});
  await client(box).fPutObject(box.repo, "dev/large", file);
  const stat = await client(box).statObject(box.repo, "dev/large");
  if (stat.size !== 66 * 1024 * 1024) throw new Error(`${stat.size} bytes`);
};

serve(verbs);
