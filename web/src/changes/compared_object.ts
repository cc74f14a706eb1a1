// Both sides of an object that is compared, as its views take them.
import type { Shown } from '@/preview/object_bytes';

/** A side is undefined if the object is not there. */
export interface ContentProps {
  before: Shown | undefined;
  after: Shown | undefined;
}

export interface Texts {
  /** undefined = the object is not on this side. */
  left: string | undefined;
  right: string | undefined;
  /** Only the first part is compared. */
  isCut: boolean;
}
