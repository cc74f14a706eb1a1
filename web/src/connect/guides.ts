// Lines that connect a client to this server, ready to be copied. tests/web/test_connect.py runs them as they are shown.
import { pythonText, s3Uri, shellWord, tarnUri } from '@/ui/snippets';

/** Where a client connects to, and as whom. */
export interface Place {
  /** Of the server, without a slash at its end: "https://tarn.example.com". */
  endpoint: string;
  repository: string;
  branch: string;
  accessKey: string;
  secretKey: string;
  /** Names of the files that the server hands out at /downloads/. */
  downloads: readonly string[];
}

export interface Step {
  title: string;
  language: 'bash' | 'python' | 'sql' | 'yaml';
  text: string;
  note?: string;
}

export interface Guide {
  id: string;
  label: string;
  group: 'Tarn' | 'Python' | 'Machine learning' | 'Tables' | 'Commands' | 'Automation';
  /** Installs the client, in a shell; undefined where the server hands out no file of it. */
  install?: string | ((place: Place) => string | undefined);
  steps: (place: Place) => Step[];
}

export const noKey: Pick<Place, 'accessKey' | 'secretKey'> = {
  accessKey: 'ACCESS_KEY_ID',
  secretKey: 'SECRET_ACCESS_KEY',
};

const region = 'us-east-1';
const inNotebook = 'The first cell of a notebook. A script reads the same variables when the shell exports them.';

function exported(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `export ${name}=${shellWord(value)}`)
    .join('\n');
}

function environment(values: Record<string, string>): Step {
  const lines = Object.entries(values).map(([name, value]) => `    ${name}=${pythonText(value)},`);
  return {
    title: 'Settings',
    language: 'python',
    note: inNotebook,
    text: `import os\n\nos.environ.update(\n${lines.join('\n')}\n)`,
  };
}

const tarnSettings = ({ endpoint, accessKey, secretKey }: Place) => ({
  TARN_ENDPOINT: endpoint,
  TARN_ACCESS_KEY: accessKey,
  TARN_SECRET_KEY: secretKey,
});
const s3Settings = ({ endpoint, accessKey, secretKey }: Place) => ({
  AWS_ENDPOINT_URL: endpoint,
  AWS_ACCESS_KEY_ID: accessKey,
  AWS_SECRET_ACCESS_KEY: secretKey,
  AWS_DEFAULT_REGION: region,
});
const host = (place: Place) => place.endpoint.replace(/^https?:\/\//, '');
const isSecure = (place: Place) => place.endpoint.startsWith('https:');
const sqlText = (text: string) => `'${text.replace(/'/g, "''")}'`;
const uri = ({ repository, branch }: Place, path: string) => s3Uri(repository, branch, path);

export const guides: readonly Guide[] = [
  {
    id: 'tarn',
    label: 'tarn',
    group: 'Tarn',
    install: ({ endpoint, downloads }) =>
      downloads.some((name) => name.startsWith('tarn-linux-'))
        ? `curl -fo tarn ${endpoint}/downloads/tarn-linux-$(uname -m) && chmod +x tarn && export PATH="$PWD:$PATH"`
        : undefined,
    steps: (place) => {
      const branch = shellWord(`tarn://${place.repository}/${place.branch}`);
      const at = (path: string) => shellWord(tarnUri(place.repository, place.branch, path));
      return [
        {
          title: 'Settings',
          language: 'bash',
          text: exported(tarnSettings(place)),
          note: 'tarn auth login asks for the same values and keeps them.',
        },
        {
          title: 'First steps',
          language: 'bash',
          text: `tarn doctor
tarn fs ls ${at('')}
echo hello | tarn fs upload - ${at('hello.txt')}
tarn fs cat ${at('hello.txt')}
tarn diff ${branch}
tarn commit ${branch} -m 'Say hello'`,
        },
      ];
    },
  },
  {
    id: 'tarn-python',
    label: 'Python: runs',
    group: 'Tarn',
    install: ({ endpoint, downloads }) => {
      const wheel = downloads.find((name) => /^tarn_data-.*\.whl$/.test(name));
      return wheel && `pip install 'tarn-data[frames,paths] @ ${endpoint}/downloads/${wheel}'`;
    },
    steps: (place) => [
      environment(tarnSettings(place)),
      {
        title: 'Record a run',
        language: 'python',
        note: 'The end of the block commits the changes of the branch.',
        text: `import tarn_data as tarn

with tarn.run(${pythonText(place.repository)}, "first", branch=${pythonText(place.branch)}) as run:
    run.log_params({"epochs": 10})
    run.log_metric("accuracy", 0.91)

print(run.commit)
for found in tarn.list_runs(${pythonText(place.repository)}, "first"):
    print(found)`,
      },
    ],
  },
  {
    id: 'lakefs',
    label: 'lakeFS SDK',
    group: 'Python',
    install: 'pip install lakefs',
    steps: (place) => [
      environment({
        LAKECTL_SERVER_ENDPOINT_URL: place.endpoint,
        LAKECTL_CREDENTIALS_ACCESS_KEY_ID: place.accessKey,
        LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY: place.secretKey,
      }),
      {
        title: 'Write, read, commit',
        language: 'python',
        text: `import lakefs

branch = lakefs.repository(${pythonText(place.repository)}).branch(${pythonText(place.branch)})
branch.object("hello.txt").upload("hello")
print(branch.object("hello.txt").reader("r").read())
for change in branch.uncommitted():
    print(change.type, change.path)
print(branch.commit("Say hello").get_commit().id)`,
      },
    ],
  },
  {
    id: 'boto3',
    label: 'boto3',
    group: 'Python',
    install: 'pip install boto3',
    steps: (place) => [
      environment(s3Settings(place)),
      {
        title: 'Write, read, list',
        language: 'python',
        note: 'A bucket is a repository; a key begins with a branch.',
        text: `import boto3

s3 = boto3.client("s3")
repository, branch = ${pythonText(place.repository)}, ${pythonText(place.branch)}
s3.put_object(Bucket=repository, Key=f"{branch}/hello.txt", Body=b"hello")
print(s3.get_object(Bucket=repository, Key=f"{branch}/hello.txt")["Body"].read())
for found in s3.list_objects_v2(Bucket=repository, Prefix=f"{branch}/", MaxKeys=10)["Contents"]:
    print(found["Key"], found["Size"])`,
      },
    ],
  },
  {
    id: 's3fs',
    label: 's3fs',
    group: 'Python',
    install: 'pip install s3fs',
    steps: (place) => [
      environment(s3Settings(place)),
      {
        title: 'Write, read, list',
        language: 'python',
        text: `import s3fs

fs = s3fs.S3FileSystem()
with fs.open(${pythonText(uri(place, 'hello.txt'))}, "w") as file:
    file.write("hello")
with fs.open(${pythonText(uri(place, 'hello.txt'))}) as file:
    print(file.read())
print(fs.ls(${pythonText(uri(place, ''))})[:10])`,
      },
    ],
  },
  {
    id: 'pandas',
    label: 'pandas',
    group: 'Python',
    install: 'pip install pandas pyarrow s3fs',
    steps: (place) => [
      environment(s3Settings(place)),
      {
        title: 'Write and read a table',
        language: 'python',
        text: `import pandas

table = pandas.DataFrame({"id": [1, 2, 3], "label": ["a", "b", "c"]})
table.to_parquet(${pythonText(uri(place, 'hello.parquet'))})
print(pandas.read_parquet(${pythonText(uri(place, 'hello.parquet'))}))`,
      },
    ],
  },
  {
    id: 'pytorch',
    label: 'PyTorch',
    group: 'Machine learning',
    install: 'pip install s3torchconnector',
    steps: (place) => [
      environment(s3Settings(place)),
      {
        title: 'A data set of a branch',
        language: 'python',
        text: `import os

from s3torchconnector import S3Checkpoint, S3ClientConfig, S3MapDataset

options = {"region": "${region}", "endpoint": os.environ["AWS_ENDPOINT_URL"], "s3client_config": S3ClientConfig(force_path_style=True)}
with S3Checkpoint(**options).writer(${pythonText(uri(place, 'hello.txt'))}) as file:
    file.write(b"hello")
dataset = S3MapDataset.from_prefix(${pythonText(uri(place, ''))}, **options)
print(len(dataset), dataset[0].key, len(dataset[0].read()))`,
      },
    ],
  },
  {
    id: 'tensorflow',
    label: 'TensorFlow',
    group: 'Machine learning',
    install: 'pip install tensorflow-cpu==2.16.2 tensorflow-io==0.37.1 "setuptools<81"',
    steps: (place) => [
      environment({
        ...s3Settings(place),
        S3_ENDPOINT: place.endpoint,
        S3_USE_HTTPS: isSecure(place) ? '1' : '0',
        S3_VERIFY_SSL: isSecure(place) ? '1' : '0',
      }),
      {
        title: 'Write, read, list',
        language: 'python',
        text: `import tensorflow as tf
import tensorflow_io  # brings the file system

with tf.io.gfile.GFile(${pythonText(uri(place, 'hello.txt'))}, "w") as file:
    file.write("hello")
print(tf.io.read_file(${pythonText(uri(place, 'hello.txt'))}))
print(tf.io.gfile.glob(${pythonText(uri(place, '*'))}))`,
      },
      {
        title: 'At the end of a script, not of a notebook',
        language: 'python',
        text: `import sys

sys.stdout.flush()
os._exit(0)  # tensorflow-io 0.37.1 aborts when the interpreter exits by itself`,
      },
    ],
  },
  {
    id: 'duckdb',
    label: 'DuckDB',
    group: 'Tables',
    install: 'pip install duckdb-cli',
    steps: (place) => [
      {
        title: 'Settings',
        language: 'sql',
        text: `INSTALL httpfs;
LOAD httpfs;
CREATE OR REPLACE SECRET tarn (
    TYPE s3, KEY_ID ${sqlText(place.accessKey)}, SECRET ${sqlText(place.secretKey)}, REGION '${region}',
    ENDPOINT ${sqlText(host(place))}, URL_STYLE 'path', USE_SSL ${isSecure(place)}, SCOPE ${sqlText(`s3://${place.repository}/`)}
);`,
      },
      {
        title: 'Write and read a table',
        language: 'sql',
        text: `COPY (SELECT range AS id, 'row ' || range AS label FROM range(3)) TO ${sqlText(uri(place, 'hello.parquet'))};
SELECT * FROM ${sqlText(uri(place, 'hello.parquet'))};`,
      },
    ],
  },
  {
    id: 'spark',
    label: 'Spark',
    group: 'Tables',
    install: 'pip install pyspark',
    steps: (place) => [
      environment(s3Settings(place)),
      {
        title: 'Write and read a table',
        language: 'python',
        note: 'The version of hadoop-aws is that of the Hadoop in your Spark: ls $SPARK_HOME/jars/hadoop-client-api-*',
        text: `import os

from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.config("spark.jars.packages", "org.apache.hadoop:hadoop-aws:3.4.2")
    .config("spark.hadoop.fs.s3a.endpoint", os.environ["AWS_ENDPOINT_URL"])
    .config("spark.hadoop.fs.s3a.endpoint.region", "${region}")
    .config("spark.hadoop.fs.s3a.path.style.access", "true")
    .config("spark.hadoop.fs.s3a.connection.ssl.enabled", "${isSecure(place)}")
    .getOrCreate()
)
spark.range(3).write.mode("overwrite").parquet(${pythonText(uri(place, 'hello-spark').replace(/^s3:/, 's3a:'))})
spark.read.parquet(${pythonText(uri(place, 'hello-spark').replace(/^s3:/, 's3a:'))}).show()`,
      },
    ],
  },
  {
    id: 'aws',
    label: 'aws',
    group: 'Commands',
    install: 'pip install awscli',
    steps: (place) => [
      { title: 'Settings', language: 'bash', text: exported(s3Settings(place)) },
      {
        title: 'Write, read, list',
        language: 'bash',
        text: `echo hello | aws s3 cp - ${shellWord(uri(place, 'hello.txt'))}
aws s3 cp ${shellWord(uri(place, 'hello.txt'))} -
aws s3 ls ${shellWord(uri(place, ''))}`,
      },
    ],
  },
  {
    id: 'rclone',
    label: 'rclone',
    group: 'Commands',
    steps: (place) => [
      {
        title: 'Settings',
        language: 'bash',
        note: 'Kept in the configuration file of rclone.',
        text: [
          'rclone config create tarn s3 provider=Other force_path_style=true',
          `region=${region}`,
          `endpoint=${shellWord(place.endpoint)}`,
          `access_key_id=${shellWord(place.accessKey)}`,
          `secret_access_key=${shellWord(place.secretKey)}`,
          '>/dev/null',
        ].join(' '),
      },
      {
        title: 'Write, read, list',
        language: 'bash',
        text: `echo hello | rclone rcat ${shellWord(`tarn:${place.repository}/${place.branch}/hello.txt`)}
rclone cat ${shellWord(`tarn:${place.repository}/${place.branch}/hello.txt`)}
rclone lsf ${shellWord(`tarn:${place.repository}/${place.branch}/`)}`,
      },
    ],
  },
  {
    id: 'mc',
    label: 'mc',
    group: 'Commands',
    steps: (place) => [
      {
        title: 'Settings',
        language: 'bash',
        note: 'Kept in the configuration file of mc.',
        text: `mc alias set tarn ${shellWord(place.endpoint)} ${shellWord(place.accessKey)} ${shellWord(place.secretKey)} --api s3v4 --path on`,
      },
      {
        title: 'Write, read, list',
        language: 'bash',
        text: `echo hello | mc pipe ${shellWord(`tarn/${place.repository}/${place.branch}/hello.txt`)}
mc cat ${shellWord(`tarn/${place.repository}/${place.branch}/hello.txt`)}
mc ls ${shellWord(`tarn/${place.repository}/${place.branch}/`)}`,
      },
    ],
  },
  {
    id: 'curl',
    label: 'curl',
    group: 'Commands',
    steps: (place) => {
      const repository = `/api/v1/repositories/${encodeURIComponent(place.repository)}`;
      const branch = encodeURIComponent(place.branch);
      const curl = `curl -fsS -u "$TARN_ACCESS_KEY:$TARN_SECRET_KEY"`;
      return [
        { title: 'Settings', language: 'bash', text: exported(tarnSettings(place)) },
        {
          title: 'Write, read, list',
          language: 'bash',
          text: `echo hello | ${curl} --data-binary @- -H 'Content-Type: text/plain' \\
  "$TARN_ENDPOINT${repository}/branches/${branch}/objects?path=hello.txt"
${curl} "$TARN_ENDPOINT${repository}/refs/${branch}/objects?path=hello.txt"
${curl} "$TARN_ENDPOINT${repository}/refs/${branch}/objects/ls?amount=10"`,
        },
      ];
    },
  },
  {
    id: 'ci',
    label: 'CI',
    group: 'Automation',
    steps: (place) => [
      {
        title: 'Secrets',
        language: 'bash',
        note: 'With the command of GitHub, in the checkout of the repository of your code. Better give the pipeline a user of its own, with few rights.',
        text: `gh variable set TARN_ENDPOINT --body ${shellWord(place.endpoint)}
gh secret set TARN_ACCESS_KEY --body ${shellWord(place.accessKey)}
gh secret set TARN_SECRET_KEY --body ${shellWord(place.secretKey)}`,
      },
      {
        title: '.github/workflows/model.yml',
        language: 'yaml',
        note: 'Each pull request trains on a branch of its own. docs/ci has whole recipes, for GitLab and Jenkins too. The tarn command is on the runner.',
        text: `name: model
on: pull_request
env:
  TARN_ENDPOINT: \${{ vars.TARN_ENDPOINT }}
  TARN_ACCESS_KEY: \${{ secrets.TARN_ACCESS_KEY }}
  TARN_SECRET_KEY: \${{ secrets.TARN_SECRET_KEY }}
  TARN_REPO: ${place.repository}
  CANDIDATE: pr-\${{ github.event.pull_request.number }}
jobs:
  candidate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: |
          tarn log ${shellWord(place.branch)} --amount 1 -o name >base
          tarn branch create "$CANDIDATE" --source "$(cat base)" --reset-if-exists --expires 14d
      - run: ./train.sh # writes out/, with the accuracy in out/accuracy
      - run: |
          tarn fs upload -r out/ "tarn://$TARN_REPO/$CANDIDATE/"
          commit=$(tarn commit "$CANDIDATE" --expect /=out/ --expect-only --expect-head "$(cat base)" -m "Train $GITHUB_SHA" -o name)
          tarn exp log --ref "$commit" --measured /=out/ --experiment ci --metric "accuracy=$(cat out/accuracy)" --git-sha "$GITHUB_SHA"
      - run: tarn exp compare "$CANDIDATE" -o md >>"$GITHUB_STEP_SUMMARY"`,
      },
    ],
  },
];

export function guideOf(id: string | undefined): Guide {
  return guides.find((guide) => guide.id === id) ?? guides[0]!;
}
