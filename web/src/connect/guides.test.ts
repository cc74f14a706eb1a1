import { describe, expect, it } from 'vitest';
import { namesIn } from './downloads';
import { guideOf, guides, type Place } from './guides';

const place: Place = {
  endpoint: 'https://tarn.example.com',
  repository: 'digits',
  branch: "it's",
  accessKey: 'AK',
  downloads: [],
  secretKey: 's\'e"c$r',
};
const text = (id: string, at = place) =>
  guideOf(id)
    .steps(at)
    .map((step) => step.text)
    .join('\n');

describe('guides', () => {
  it('have an id of their own each', () => {
    expect(new Set(guides.map((guide) => guide.id)).size).toBe(guides.length);
  });
  it('name the server, the repository and the branch', () => {
    for (const guide of guides) {
      const shown = text(guide.id, { ...place, branch: 'exp-1', secretKey: 'sk' });
      expect(shown, guide.id).toContain('tarn.example.com');
      for (const part of ['digits', 'exp-1', 'AK', 'sk']) expect(shown, guide.id).toContain(part);
    }
  });
  it('quote names for their language', () => {
    expect(text('aws')).toContain(`export AWS_SECRET_ACCESS_KEY='s'\\''e"c$r'`);
    expect(text('boto3')).toContain(`AWS_SECRET_ACCESS_KEY="s'e\\"c$r"`);
    expect(text('duckdb')).toContain(`SECRET 's''e"c$r'`);
    expect(text('duckdb')).toContain(`FROM 's3://digits/it''s/hello.parquet'`);
  });
  it('install what the server hands out, and nothing else', () => {
    const line = (id: string, downloads: string[]) => {
      const { install } = guideOf(id);
      return typeof install === 'function' ? install({ ...place, downloads }) : null;
    };
    expect(line('tarn-python', ['tarn_1.2.3_amd64.deb', 'tarn_data-1.2.3-py3-none-any.whl'])).toBe(
      "pip install 'tarn-data[frames,paths] @ https://tarn.example.com/downloads/tarn_data-1.2.3-py3-none-any.whl'",
    );
    expect(line('tarn', ['tarn-linux-aarch64', 'tarn-linux-x86_64'])).toMatch(
      /^curl -fo tarn https:\/\/tarn\.example\.com\/downloads\/tarn-linux-\$\(uname -m\) && chmod \+x tarn/,
    );
    for (const id of ['tarn', 'tarn-python']) expect(line(id, ['tarn_1.2.3_amd64.deb']), id).toBeUndefined();
  });
  it('use TLS as the server does', () => {
    expect(text('duckdb')).toContain('USE_SSL true');
    expect(text('duckdb', { ...place, endpoint: 'http://127.0.0.1:8000' })).toContain(
      "ENDPOINT '127.0.0.1:8000', URL_STYLE 'path', USE_SSL false",
    );
    expect(text('tensorflow')).toContain('S3_USE_HTTPS="1"');
  });
});

describe('the list of downloads', () => {
  it('is read from the links of the page', () => {
    const page =
      '<!DOCTYPE html>\n<html lang="en"><title>Downloads</title>\n<a href="a-1.whl">a-1.whl</a><br>\n<a href="b">b</a><br>\n</html>\n';
    expect(namesIn(page)).toEqual(['a-1.whl', 'b']);
    expect(namesIn('')).toEqual([]);
  });
});
