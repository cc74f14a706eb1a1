export const sections = [
  { id: 'general', label: 'General' },
  { id: 'protection', label: 'Protection' },
  { id: 'branches', label: 'Stale branches' },
  { id: 'metrics', label: 'Metric files' },
  { id: 'retention', label: 'Retention' },
  { id: 'quotas', label: 'Quotas' },
  { id: 'deletion', label: 'Deletion' },
] as const;

export type Section = (typeof sections)[number]['id'];
