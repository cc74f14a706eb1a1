import { describe, expect, it } from 'vitest';
import { localAddress } from './local_address';

describe('the address after the login', () => {
  it('stays on this server', () => {
    expect(localAddress('/r/digits/main/data?path=a/')).toBe('/r/digits/main/data?path=a/');
    for (const next of [
      undefined,
      '',
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '/\t/evil.example',
      '\\/evil',
    ]) {
      expect(localAddress(next)).toBe('/');
    }
  });
});
