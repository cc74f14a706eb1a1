import { integer, oneOf, text, texts } from '@/app/search_params';

export const objectSorts = ['path', 'size', 'modified'] as const;

export interface ObjectSearch {
  glob?: string | undefined;
  prefix?: string | undefined;
  min?: number | undefined;
  max?: number | undefined;
  after?: string | undefined;
  before?: string | undefined;
  type?: string | undefined;
  metadata?: string[] | undefined;
  where?: string | undefined;
  sort?: (typeof objectSorts)[number] | undefined;
  descending?: string | undefined;
  object?: string | undefined;
}

export function objectSearchOf(raw: Record<string, unknown>): ObjectSearch {
  return {
    glob: text(raw.glob),
    prefix: text(raw.prefix),
    min: integer(raw.min),
    max: integer(raw.max),
    after: text(raw.after),
    before: text(raw.before),
    type: text(raw.type),
    metadata: texts(raw.metadata),
    where: text(raw.where),
    sort: oneOf(raw.sort, objectSorts),
    descending: text(raw.descending),
    object: text(raw.object),
  };
}
