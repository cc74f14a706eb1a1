import type { Schemas } from '@/api/client';

export type Comment = Schemas['PullRequestComment'];

export interface Thread {
  /** The comment that began it. */
  first: Comment;
  answers: Comment[];
}

/** The threads of comments, in the order in which they began. Those of which every comment is deleted are left out. */
export function threadsOf(comments: readonly Comment[]): Thread[] {
  const threads = new Map<number, Thread>();
  for (const comment of comments) {
    const thread = threads.get(comment.thread);
    if (thread) thread.answers.push(comment);
    else if (comment.id === comment.thread) threads.set(comment.id, { first: comment, answers: [] });
  }
  return [...threads.values()].filter(({ first, answers }) => [first, ...answers].some((comment) => !comment.deleted));
}

/** The place of a comment: "labels.csv, row 3"; '' for one on the whole request. */
export function placeOf({ path, line, row }: Pick<Comment, 'path' | 'line' | 'row'>): string {
  if (path === undefined) return '';
  return line !== undefined ? `${path}, line ${line}` : row !== undefined ? `${path}, row ${row}` : path;
}

/** The names in a list with commas between them, each once. */
export function namesIn(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  return [...new Set(names)].filter((name) => name !== '');
}

/** A line or row number that was typed; undefined: none, null: it is no such number. */
export function numberIn(text: string): number | undefined | null {
  const typed = text.trim();
  if (typed === '') return undefined;
  const number = Number(typed);
  return /^\d+$/.test(typed) && number >= 1 && number <= 2_147_483_647 ? number : null;
}
