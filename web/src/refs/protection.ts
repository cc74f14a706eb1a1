// Which protection rules of branches apply to one, in words.
import type { Schemas } from '@/api/client';

export type ProtectionRule = Schemas['BranchProtectionRule'];

const blockedByDefault = ['stage', 'commit', 'reset'];

/** Patterns of rules: ? is one character, * any number of them. */
export function patternMatches(pattern: string, name: string): boolean {
  const source = pattern.replace(/[.+^${}()|\\]/g, '\\$&').replace(/\*+/g, '.*').replace(/\?/g, '.');
  try {
    return new RegExp(`^${source}$`, 's').test(name);
  } catch {
    return pattern === name;
  }
}

/** One line for each rule that matches. */
export function protectionOf(rules: readonly ProtectionRule[], branch: string): string[] {
  return rules.filter((rule) => patternMatches(rule.pattern, branch)).map((rule) => {
    const parts = [`blocked: ${(rule.blocked_actions ?? blockedByDefault).join(', ') || 'nothing'}`];
    if (rule.merge_methods && rule.merge_methods.length > 0) parts.push(`merged by ${rule.merge_methods.join(' or ')}`);
    if (rule.approvals) parts.push(`approvals: ${rule.approvals}`);
    return `${rule.pattern}: ${parts.join('; ')}`;
  });
}

/** Approvals that a request into the branch needs: the most that a rule asks for. */
export function requiredApprovals(rules: readonly ProtectionRule[], branch: string): number {
  return Math.max(0, ...rules.filter((rule) => patternMatches(rule.pattern, branch)).map((rule) => rule.approvals ?? 0));
}
