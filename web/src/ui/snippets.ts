// Lines that do in a terminal or a program what the page shows.
import type { Snippet } from './copy_as';

/** As one word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./~^-]+$/.test(text) && !text.startsWith('~') ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}

/** As a Python string. */
export function pythonText(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function tarnUri(repository: string, ref: string, path = ''): string {
  return `tarn://${repository}/${ref}/${path}`;
}

export function s3Uri(repository: string, ref: string, path = ''): string {
  return `s3://${repository}/${ref}/${path}`;
}

/** How to get one object. */
export function objectSnippets(repository: string, ref: string, path: string, origin: string): Snippet[] {
  const url = `${origin}/api/v1/repositories/${encodeURIComponent(repository)}/refs/${encodeURIComponent(ref)}/objects?path=${encodeURIComponent(path)}`;
  return [
    { label: 'tarn URI', text: tarnUri(repository, ref, path) },
    { label: 'S3 URI', text: s3Uri(repository, ref, path) },
    { label: 'tarn', text: `tarn fs cat ${shellWord(tarnUri(repository, ref, path))}` },
    {
      label: 'Python (lakefs)',
      text: `lakefs.repository(${pythonText(repository)}).ref(${pythonText(ref)}).object(${pythonText(path)}).reader()`,
    },
    {
      label: 'Python (boto3)',
      text: `s3.get_object(Bucket=${pythonText(repository)}, Key=${pythonText(`${ref}/${path}`)})`,
    },
    ...(/\.(parquet|pq)$/i.test(path)
      ? [
          {
            label: 'Python (pandas)',
            text: `pandas.read_parquet(${pythonText(s3Uri(repository, ref, path))}, storage_options={"endpoint_url": ${pythonText(origin)}})`,
          },
        ]
      : []),
    { label: 'aws', text: `aws --endpoint-url ${origin} s3 cp ${shellWord(s3Uri(repository, ref, path))} .` },
    {
      label: 'curl',
      text: `curl -u "$TARN_ACCESS_KEY:$TARN_SECRET_KEY" -o ${shellWord(path.slice(path.lastIndexOf('/') + 1) || 'object')} ${shellWord(url)}`,
    },
  ];
}
