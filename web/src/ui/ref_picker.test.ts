import { describe, expect, it } from 'vitest';
import type { NamedRef } from '@/refs/ref_queries';
import { picksFor } from './ref_picker';

const refs: NamedRef[] = [
  { kind: 'branch', name: 'exp-1', commit: 'c1' },
  { kind: 'branch', name: 'main', commit: 'c2' },
  { kind: 'branch', name: 'next-exp', commit: 'c3' },
  { kind: 'tag', name: 'v1', commit: 'c4' },
  { kind: 'alias', name: '@champion', commit: 'c5' },
];
const names = (...given: Parameters<typeof picksFor>) => picksFor(...given).map((pick) => `${pick.group}:${pick.id}`);

describe('picks of a ref', () => {
  it('begin with what was used lately and still exists', () => {
    expect(names(refs, '', ['v1', 'deleted'])).toEqual([
      'Recent:v1',
      'Branches:exp-1',
      'Branches:main',
      'Branches:next-exp',
      'Tags:v1',
      'Aliases:@champion',
    ]);
  });
  it('contain the text, those that begin with it first', () => {
    expect(names(refs, 'EXP', [])).toEqual(['Branches:exp-1', 'Branches:next-exp', 'Go to:EXP']);
    expect(names(refs, 'champ', [])).toEqual(['Aliases:@champion', 'Go to:champ']);
  });
  it('take an expression unless only some kinds are wanted', () => {
    expect(names(refs, 'main~3', [])).toEqual(['Go to:main~3']);
    expect(names(refs, 'main~3', [], ['branch'])).toEqual([]);
    expect(names(refs, 'main', [])).toEqual(['Branches:main']);
    expect(names(refs, '', [], ['tag'])).toEqual(['Tags:v1']);
  });
});
