import { describe, expect, it } from 'vitest';
import { authorOf, metadataOf } from './commit_facts';

describe('facts of a commit', () => {
  it('name the server where no user made it', () => {
    expect(authorOf({ committer: '' })).toBe('the server');
    expect(authorOf({ committer: 'ann' })).toBe('ann');
  });
  it('keep keys of the server apart', () => {
    const metadata = { '.lakefs.merge.strategy': 'default', loss: '1', '.tarn.x': 'y', '.mine': 'z' };
    expect(metadataOf({ metadata })).toEqual({
      given: [
        ['loss', '1'],
        ['.mine', 'z'],
      ],
      internal: [
        ['.lakefs.merge.strategy', 'default'],
        ['.tarn.x', 'y'],
      ],
    });
    expect(metadataOf({})).toEqual({ given: [], internal: [] });
  });
});
