// The evidence of a promotion, and the figures in a rule's reason.
import type { Schemas } from '@/api/client';

export type Rule = Schemas['GateVerdicts']['results'][number]['rules'][number];

export type EvidenceCandidate = Schemas['EvidenceCandidate'];
export type Evidence = Schemas['PromotionEvidence'];

/** null until candidates were judged. */
export function evidenceOf({ evidence }: Pick<Schemas['Promotion'], 'evidence'>): Evidence | null {
  return evidence && Array.isArray(evidence.candidates) ? evidence : null;
}

/** The candidate that a promotion took, with its values and those of the champion that it replaced; null of a rollback, and before one won. */
export function winnerOf({ winner, review, undoes }: Pick<Schemas['Promotion'], 'winner' | 'review' | 'undoes'>) {
  if (undoes || !winner?.ref) return null;
  const values = Object.entries(review?.values ?? {}).flatMap(([name, { candidate, champion }]) =>
    candidate === null || candidate === undefined ? [] : [{ name, value: candidate, before: champion ?? undefined }],
  );
  return { candidate: winner.ref, values };
}

export interface Figures {
  value: string;
  origin: string;
  champion: string;
  wanted: string;
}

/** A number, with its spread or its examples if it was measured several times. */
const measured = String.raw`-?[0-9][0-9.e+-]*(?: ± [0-9.e+-]+)?(?: \((?:n=\d+|\d+ examples)\))?|NaN|-?Infinity`;
const figures = new RegExp(
  String.raw`^\S.*? is (${measured})(?: \(([^)]*)\))?(?:, the champion's ([^:]+): ([^,]+))?(?:, wanted (.*))?$`,
  's',
);

/** "accuracy is 0.83 (api), wanted at least 0.72", "... is 0.86, the champion's 0.83: 0.03 better, wanted at least 0.001". */
export function figuresOf(reason: string): Figures | null {
  const match = figures.exec(reason);
  if (!match) return null;
  return {
    value: match[1]!,
    origin: match[2] ?? '',
    champion: match[3] ? `${match[3]} (${match[4]})` : '',
    wanted: match[5] ?? '',
  };
}

export const openStates = ['draft', 'comparing', 'gates_running', 'awaiting_approval', 'merging'] as const;

export function isOpen(state: Schemas['Promotion']['state']): boolean {
  return (openStates as readonly string[]).includes(state);
}

export const stateWords: Record<Schemas['Promotion']['state'], string> = {
  draft: 'begun',
  comparing: 'comparing',
  gates_running: 'waiting for checks',
  awaiting_approval: 'waiting for approval',
  merging: 'merging',
  promoted: 'promoted',
  rejected: 'rejected',
  failed: 'failed',
  cancelled: 'cancelled',
  rolled_back: 'rolled back',
};

export function stateKind(
  state: Schemas['Promotion']['state'],
): 'added' | 'removed' | 'changed' | 'waiting' | 'neutral' {
  if (state === 'promoted') return 'added';
  if (state === 'rejected' || state === 'failed') return 'removed';
  if (state === 'rolled_back') return 'changed';
  return state === 'cancelled' ? 'neutral' : 'waiting';
}
