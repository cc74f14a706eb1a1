// Which protection rules of branches apply to one, in words.
import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';
import { permitted, resource } from '@/api/permissions';

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

const blockedByDefault = ['stage', 'commit', 'reset'];

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

/** Approvals that a request into the branch needs: the most that a rule asks for. */
export function requiredApprovals(rules: readonly ProtectionRule[], branch: string): number {
  return Math.max(
    0,
    ...rules.filter((rule) => patternMatches(rule.pattern, branch)).map((rule) => rule.approvals ?? 0),
  );
}
