import { answer, api } from '@/api/client';
import { toast } from '@/ui/toast';
import { type GatePolicy, forgetPromotions } from './promotion_queries';

/** Sets the document of a gate that holds with this version, 0 for none. */
export async function setGate(repository: string, policy: string, version: number, document: string) {
  const set = await answer(
    api.PUT('/repositories/{repository}/policies/{policy}', {
      params: { path: { repository, policy }, header: { 'If-Match': String(version) } },
      body: document as never,
      bodySerializer: (body) => String(body),
      headers: { 'Content-Type': 'application/yaml' },
    }),
  );
  forgetPromotions(repository);
  toast(set.proposed ? 'Proposed: a second user must set the same document' : `Version ${set.version} holds`);
  return set;
}

/** Removes a gate. True if this is only proposed. */
export async function removeGate(repository: string, { name, version }: GatePolicy): Promise<boolean> {
  const answered: { proposed: boolean } | undefined = await answer(
    api.DELETE('/repositories/{repository}/policies/{policy}', {
      params: { path: { repository, policy: name }, header: { 'If-Match': String(version) } },
    }),
  );
  forgetPromotions(repository);
  if (!answered?.proposed) return false;
  toast('Proposed: a second user must remove the gate too');
  return true;
}
