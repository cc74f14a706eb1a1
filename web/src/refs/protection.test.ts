import { expect, it } from 'vitest';
import { isBlocked, patternMatches, protectionOf } from './protection';

it('rules are found by pattern', () => {
  expect([
    patternMatches('main', 'main'),
    patternMatches('main', 'main2'),
    patternMatches('release-*', 'release-1'),
    patternMatches('v?', 'v12'),
    patternMatches('a.b', 'axb'),
    patternMatches('*', 'a\nb'),
  ]).toEqual([true, false, true, false, false, true]);
  expect(patternMatches('[', '[')).toBe(true);
});

it('actions are blocked by any rule that matches, by default those that write', () => {
  const rules = [
    { pattern: 'main' },
    { pattern: 'm*', blocked_actions: ['merge' as const] },
    { pattern: 'open', blocked_actions: [] },
  ];
  const blocked = (branch: string) =>
    (['stage', 'commit', 'reset', 'merge', 'import'] as const).filter((action) => isBlocked(rules, branch, action));
  expect(blocked('main')).toEqual(['stage', 'commit', 'reset', 'merge']);
  expect(blocked('mine')).toEqual(['merge']);
  expect(blocked('open')).toEqual([]);
});

it('rules are said in words', () => {
  const rules = [
    { pattern: 'main' },
    { pattern: 'm*', blocked_actions: [], merge_methods: ['squash' as const], approvals: 2 },
    { pattern: 'dev' },
  ];
  expect(protectionOf(rules, 'main')).toEqual([
    'main: blocked: stage, commit, reset',
    'm*: blocked: nothing; merged by squash; approvals: 2',
  ]);
});
