/** Events that hooks run on, in the order of core/model/hook_event.cc. */
export const hookEvents = [
  'prepare-commit', 'pre-commit', 'post-commit', 'pre-merge', 'post-merge', 'pre-create-tag', 'post-create-tag', 'pre-delete-tag', 'post-delete-tag',
  'pre-create-branch', 'post-create-branch', 'pre-delete-branch', 'post-delete-branch', 'pre-revert', 'post-revert', 'pre-cherry-pick', 'post-cherry-pick',
] as const;

/** Events that webhooks deliver, in the order of core/model/event.h. */
export const eventTypes = [
  'branch.created', 'branch.updated', 'branch.deleted', 'branch.stale', 'branch.expiring', 'tag.created', 'tag.updated', 'tag.deleted', 'alias.set', 'alias.removed',
  'import.completed', 'import.failed', 'import.cancelled', 'hook.completed', 'hook.failed', 'promotion.created', 'promotion.waiting', 'promotion.promoted',
  'promotion.rejected', 'promotion.failed', 'promotion.cancelled', 'promotion.rolled_back', 'quota.warning', 'quota.exceeded',
] as const;
