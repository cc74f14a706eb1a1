import { describe, expect, it } from 'vitest';
import { advice, ApiError } from './errors';

describe('a request that failed', () => {
  it.each([
    [0, '', true],
    [400, '', false],
    [408, '', true],
    [412, 'branch_moved', false],
    [429, '', true],
    [429, 'too_many_branches', false],
    [500, '', true],
    [503, '', true],
    [507, 'quota_exceeded', false],
    [507, 'store_full', false],
  ])('with %i %s may be repeated: %s', (status, reason, repeated) => {
    expect(new ApiError(status, 'message', reason).isTransient).toBe(repeated);
  });

  it('of a full quota asks for room, of a busy server for patience', () => {
    expect(advice(new ApiError(507, 'message', 'quota_exceeded'))).toContain('Make room');
    expect(advice(new ApiError(429, 'message', 'too_many_branches'))).toContain('Make room');
    expect(advice(new ApiError(429, 'message'))).toContain('busy');
  });
});
