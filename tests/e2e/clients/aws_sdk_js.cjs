// The verbs of with_aws_sdk_js.py.
const fs = require("node:fs");
const { pipeline } = require("node:stream/promises");
const s3 = require("@aws-sdk/client-s3");
const { Upload } = require("@aws-sdk/lib-storage");
const { getSignedUrl } = require("@aws-sdk/s3-request-presigner");
const { bytesOf, serve } = require("./client_child.cjs");

let made;
function client(box) {
  made ??= new s3.S3Client({
    endpoint: box.url, region: "us-east-1", forcePathStyle: true, maxAttempts: 1,
    credentials: { accessKeyId: box.access_key, secretAccessKey: box.secret_key },
  });
  return made;
}

async function list(box, options) {
  const pages = s3.paginateListObjectsV2({ client: client(box) }, { Bucket: box.repo, ...options });
  const found = [];
  for await (const page of pages) {
    found.push(...(page.Contents ?? []).map((entry) => entry.Key));
    found.push(...(page.CommonPrefixes ?? []).map((entry) => entry.Prefix));
  }
  return found;
}

// The SDK sends the source as it is given. encodeURI would leave a plus, which stands for a blank.
async function copy(box, key, Key) {
  const CopySource = `${box.repo}/${key}`.split("/").map(encodeURIComponent).join("/");
  await client(box).send(new s3.CopyObjectCommand({ Bucket: box.repo, Key, CopySource }));
}

const verbs = {
  async repositories(box) {
    return (await client(box).send(new s3.ListBucketsCommand({}))).Buckets.map((bucket) => bucket.Name);
  },
  async make_bucket(box, Bucket) {
    await client(box).send(new s3.CreateBucketCommand({ Bucket }));
  },
  async remove_bucket(box, Bucket) {
    await client(box).send(new s3.DeleteBucketCommand({ Bucket }));
  },
  async put(box, files) {
    for (const [Key, path] of Object.entries(files)) {
      await new Upload({ client: client(box), params: { Bucket: box.repo, Key, Body: fs.createReadStream(path) } }).done();
    }
  },
  async get(box, files) {
    for (const [Key, path] of Object.entries(files)) {
      const answer = await client(box).send(new s3.GetObjectCommand({ Bucket: box.repo, Key }));
      await pipeline(answer.Body, fs.createWriteStream(path));
    }
  },
  async get_range(box, Key, first, count) {
    const Range = `bytes=${first}-${first + count - 1}`;
    return bytesOf((await client(box).send(new s3.GetObjectCommand({ Bucket: box.repo, Key, Range }))).Body);
  },
  list_directory: (box, Prefix) => list(box, { Prefix, Delimiter: "/" }),
  list_all: (box, Prefix) => list(box, { Prefix }),
  async rename(box, source, target) {
    for (const key of await list(box, { Prefix: source })) {
      await copy(box, key, key.replace(source, target));
      await client(box).send(new s3.DeleteObjectCommand({ Bucket: box.repo, Key: key }));
    }
  },
  async delete(box, keys) {
    for (let start = 0; start < keys.length; start += 1000) {
      const Objects = keys.slice(start, start + 1000).map((Key) => ({ Key }));
      const answer = await client(box).send(new s3.DeleteObjectsCommand({ Bucket: box.repo, Delete: { Objects } }));
      if (answer.Errors?.length) throw new Error(JSON.stringify(answer.Errors));
    }
  },
  async delete_directory(box, prefix) {
    await verbs.delete(box, await list(box, { Prefix: prefix }));
  },
  presign: (box, Key) => getSignedUrl(client(box), new s3.GetObjectCommand({ Bucket: box.repo, Key }), { expiresIn: 3600 }),
  async refused(box, Key, path) {
    try {
      await client(box).send(new s3.PutObjectCommand({ Bucket: box.repo, Key, Body: fs.readFileSync(path) }));
    } catch (error) {
      if (!(error instanceof s3.S3ServiceException) || error.name !== "MethodNotAllowed") throw error;
      return error.message;
    }
    return null;
  },
};

// A stream of known length but without a seekable source: aws-chunked inside HTTP chunks.
verbs.also_streams = async (box) => {
  const Body = require("node:stream").Readable.from([Buffer.alloc(100000, "a"), Buffer.alloc(50000, "b")]);
  await client(box).send(new s3.PutObjectCommand({ Bucket: box.repo, Key: "dev/stream", Body, ContentLength: 150000 }));
  const head = await client(box).send(new s3.HeadObjectCommand({ Bucket: box.repo, Key: "dev/stream" }));
  if (head.ContentLength !== 150000) throw new Error(`${head.ContentLength} bytes`);
};

// The checks of Box.tells_look_alikes_apart, without one of directories; each object has its name as its bytes.
verbs.also_tells_look_alikes_apart = async (box) => {
  const names = ["both x", "both+x", "both%20x", "both%2Bx"];
  const read = async (Key) => bytesOf((await client(box).send(new s3.GetObjectCommand({ Bucket: box.repo, Key }))).Body);
  for (const name of names) {
    await client(box).send(new s3.PutObjectCommand({ Bucket: box.repo, Key: `dev/alike/${name}`, Body: name }));
  }
  for (const name of names) await copy(box, `dev/alike/${name}`, `dev/copied/${name}`);
  await verbs.rename(box, "dev/copied/", "dev/moved/");
  const left = await list(box, { Prefix: "dev/copied/" });
  if (left.length) throw new Error(`left: ${left}`);
  for (const name of names) {
    for (const place of ["alike", "moved"]) {
      const found = String(await read(`dev/${place}/${name}`));
      if (found !== name) throw new Error(`${place}/${name} has the bytes of ${found}`);
    }
  }
};

serve(verbs);
