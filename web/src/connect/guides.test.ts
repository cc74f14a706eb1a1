import { describe, expect, it } from 'vitest';
import { guideOf, guides, type Place } from './guides';

const place: Place = {
  endpoint: 'https://tarn.example.com',
  repository: 'digits',
  branch: "it's",
  accessKey: 'AK',
  version: '1.2.3',
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
  it('install the Python package that the server hands out', () => {
    const { install } = guideOf('tarn-python');
    expect(typeof install === 'function' && install(place)).toBe(
      "pip install 'tarn-data[frames,paths] @ https://tarn.example.com/downloads/tarn_data-1.2.3-py3-none-any.whl'",
    );
  });
  it('use TLS as the server does', () => {
    expect(text('duckdb')).toContain('USE_SSL true');
    expect(text('duckdb', { ...place, endpoint: 'http://127.0.0.1:8000' })).toContain(
      "ENDPOINT '127.0.0.1:8000', URL_STYLE 'path', USE_SSL false",
    );
    expect(text('tensorflow')).toContain('S3_USE_HTTPS="1"');
  });
});
