// Protection of branches by rules and gates, in words.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';
import { permitted, resource } from '@/api/permissions';
import { policiesQuery } from '@/promotion/promotion_queries';

export type ProtectionRule = Schemas['BranchProtectionRule'];

/** The rules of a repository, for those who may read them. */
export const protectionQuery = (repository: string) =>
  queryOptions({
    queryKey: ['protection', repository],
    queryFn: ({ signal }): Promise<ProtectionRule[]> =>
      permitted('branches:GetBranchProtectionRules', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/settings/branch_protection', {
            params: { path: { repository } },
            signal,
          }),
        ),
      ),
  });

export type BranchAction = NonNullable<ProtectionRule['blocked_actions']>[number];

/** What rules block, in words. */
export const blockable = {
  stage: 'Writing',
  commit: 'Committing',
  merge: 'Merging',
  delete: 'Deleting',
  revert: 'Reverting',
  cherry_pick: 'Cherry-picking',
  reset: 'Resetting',
  import: 'Importing',
  restore: 'Restoring',
} as const satisfies Record<BranchAction, string>;
export const blockedByDefault: BranchAction[] = ['stage', 'commit', 'reset'];

/** Patterns of rules: ? is one character, * any number of them. */
export function patternMatches(pattern: string, name: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replace(/\?/g, '.');
  try {
    return new RegExp(`^${source}$`, 's').test(name);
  } catch {
    return pattern === name;
  }
}

/** One line for each rule that matches. */
export function protectionOf(rules: readonly ProtectionRule[], branch: string): string[] {
  return rules
    .filter((rule) => patternMatches(rule.pattern, branch))
    .map((rule) => {
      const parts = [`blocked: ${(rule.blocked_actions ?? blockedByDefault).join(', ') || 'nothing'}`];
      if (rule.merge_methods && rule.merge_methods.length > 0)
        parts.push(`merged by ${rule.merge_methods.join(' or ')}`);
      if (rule.approvals) parts.push(`approvals: ${rule.approvals}`);
      return `${rule.pattern}: ${parts.join('; ')}`;
    });
}

export function isBlocked(rules: readonly ProtectionRule[], branch: string, action: BranchAction): boolean {
  return rules.some(
    (rule) => patternMatches(rule.pattern, branch) && (rule.blocked_actions ?? blockedByDefault).includes(action),
  );
}

/** The gate of a branch, and why an action on it is refused, as far as the user may read gates and rules. */
export function useProtection(repository: string, branch: string) {
  const rules = useQuery(protectionQuery(repository)).data ?? [];
  const gate = useQuery(policiesQuery(repository)).data?.results.find((policy) => policy.destination === branch)?.name;
  return {
    gate,
    refusalOf: (action: BranchAction): string | undefined =>
      gate !== undefined
        ? `${branch} changes by promotion only, as its gate ${gate} says`
        : isBlocked(rules, branch, action)
          ? `${branch} is protected: a rule blocks ${blockable[action].toLowerCase()}`
          : undefined,
  };
}

/** Approvals that a request into the branch needs: the most that a rule asks for. */
export function requiredApprovals(rules: readonly ProtectionRule[], branch: string): number {
  return Math.max(
    0,
    ...rules.filter((rule) => patternMatches(rule.pattern, branch)).map((rule) => rule.approvals ?? 0),
  );
}
