import { useQuery } from '@tanstack/react-query';
import { patternMatches } from '@/refs/protection';
import { type RefKind, refsQuery } from '@/refs/ref_queries';
import { count, counted } from '@/ui/format';
import { Name } from '@/ui/text';

const namesShown = 5;

/** Which refs a pattern means now. */
export function MatchingRefs({ repository, pattern, kind }: { repository: string; pattern: string; kind: RefKind }) {
  const refs = useQuery(refsQuery(repository));
  if (pattern === '' || !refs.data) return null;
  const found = refs.data
    .filter((ref) => ref.kind === kind && patternMatches(pattern, ref.name))
    .map((ref) => ref.name);
  const noun = counted(found.length, kind, kind === 'branch' ? 'branches' : undefined);
  return (
    <>
      It matches {noun} now
      {found.length > 0 && (
        <>
          :{' '}
          {found.slice(0, namesShown).map((name, at) => (
            <span key={name}>
              {at > 0 && ', '}
              <Name>{name}</Name>
            </span>
          ))}
          {found.length > namesShown && ` and ${count(found.length - namesShown)} more`}
        </>
      )}
      .{' '}
    </>
  );
}
