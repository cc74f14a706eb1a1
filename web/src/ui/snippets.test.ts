import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { objectSnippets, pythonText, shellWord } from './snippets';

const hostile = ["it's", 'a b', '$(touch x)', '`id`', '"q"', '-rf', '~root', 'a\nb', 'ü', '', '!x', 'a;b', '\\'];

describe('words of a shell', () => {
  it('are taken by a real one as they are', () => {
    const printed = execFileSync('sh', ['-c', `printf '%s\\036' ${hostile.map(shellWord).join(' ')}`], {
      encoding: 'utf8',
    });
    expect(printed.split('\u001e').slice(0, -1)).toEqual(hostile);
    expect(shellWord('tarn://digits/main~1/a.png')).toBe('tarn://digits/main~1/a.png');
  });
});

describe('texts of Python', () => {
  it('are taken by a real one as they are', () => {
    const printed = execFileSync(
      'python3',
      ['-c', `import sys; sys.stdout.buffer.write("\\x1e".join([${hostile.map(pythonText).join(', ')}]).encode())`],
      { encoding: 'utf8' },
    );
    expect(printed.split('\u001e')).toEqual(hostile);
  }, 60_000);
});

describe('snippets of an object', () => {
  it('name it', () => {
    const texts = objectSnippets('digits', 'main', 'a b.png', 'http://h:1').map((snippet) => snippet.text);
    expect(texts[1]).toBe('s3://digits/main/a b.png');
    expect(texts[2]).toBe("tarn fs cat 'tarn://digits/main/a b.png'");
    expect(texts.at(-1)).toContain("objects?path=a%20b.png'");
  });
  it('read Parquet with pandas', () => {
    const pandas = (path: string) =>
      objectSnippets('digits', 'main', path, 'http://h:1').find(({ label }) => label === 'Python (pandas)')?.text;
    expect(pandas('t/a.parquet')).toBe(
      'pandas.read_parquet("s3://digits/main/t/a.parquet", storage_options={"endpoint_url": "http://h:1"})',
    );
    expect(pandas('t/a.csv')).toBeUndefined();
  });
});
