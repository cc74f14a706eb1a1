import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { refsQuery } from '@/refs/ref_queries';
import { type Pick, PickList } from '@/ui/pick_list';
import { offered, repositoryNavigation, serverNavigation, serverPages } from './navigation';
import { recent } from './recent';
import styles from './palette.module.css';

const refsShown = 50;

interface PaletteProps {
  isOpen: boolean;
  onClose: () => void;
  repository?: string | undefined;
  currentRef?: string | undefined;
}

/** Ctrl K: goes to a page, a repository, a ref, or the objects that contain a text. */
export function Palette({ isOpen, onClose, repository, currentRef }: PaletteProps) {
  return (
    <ModalOverlay isOpen={isOpen} onOpenChange={(open) => open || onClose()} isDismissable className={styles.overlay!}>
      <Modal className={styles.modal!}>
        <AriaDialog aria-label="Search or jump to" className={styles.dialog!}>
          <Commands onClose={onClose} repository={repository} currentRef={currentRef} />
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

interface Command extends Pick {
  run: () => void;
}

function Commands({ onClose, repository, currentRef }: Omit<PaletteProps, 'isOpen'>) {
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  const typed = query.trim();
  const searched = useDeferredValue(typed);
  const repositories = useQuery({
    queryKey: ['repositories', 'palette', searched],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories', {
          params: { query: { amount: 20, ...(searched ? { search: searched } : {}) } },
          signal,
        }),
      ),
  });
  const refs = useQuery({ ...refsQuery(repository ?? ''), enabled: repository !== undefined });
  const mayListUsers = useMay('auth:ListUsers', resource.all).allowed;
  const contains = (text: string) => text.toLowerCase().includes(typed.toLowerCase());

  const commands: Command[] = [];
  // A command keeps its place while those below it are loaded, so Enter need not wait for these.
  let isLoading = false;
  if (repository !== undefined && currentRef !== undefined) {
    for (const item of repositoryNavigation) {
      if (contains(item.label))
        commands.push({
          id: item.to,
          label: item.label,
          icon: item.icon,
          detail: `g ${item.key}`,
          group: repository,
          run: () => void navigate({ to: item.to, params: { repository, ref: currentRef } }),
        });
    }
    if (typed !== '') {
      commands.push({
        id: 'search',
        label: `Objects with "${typed}" in their path`,
        icon: 'search',
        group: 'Search',
        run: () =>
          void navigate({
            to: '/r/$repository/$ref/search',
            params: { repository, ref: currentRef },
            search: { glob: `**${typed}**` },
          }),
      });
    }
    isLoading = commands.length === 0 && refs.isLoading;
    const lately = typed === '' ? recent(`refs.${repository}`) : [];
    const shown = (refs.data ?? [])
      .filter((ref) => (typed === '' ? lately.includes(ref.name) : contains(ref.name)))
      .slice(0, refsShown);
    for (const ref of shown) {
      commands.push({
        id: ref.name,
        label: ref.name,
        icon: ref.kind,
        group: 'Refs',
        run: () => void navigate({ to: '/r/$repository/$ref/data', params: { repository, ref: ref.name }, search: {} }),
      });
    }
  }
  isLoading ||= commands.length === 0 && (repositories.isLoading || searched !== typed);
  for (const found of (repositories.data?.results ?? []).filter((item) => contains(item.id))) {
    commands.push({
      id: found.id,
      label: found.id,
      icon: 'data',
      group: 'Repositories',
      run: () =>
        void navigate({
          to: '/r/$repository/$ref/data',
          params: { repository: found.id, ref: found.default_branch },
          search: {},
        }),
    });
  }
  for (const item of offered(serverNavigation, mayListUsers)) {
    if (contains(item.label))
      commands.push({
        id: item.to,
        label: item.label,
        icon: item.icon,
        detail: `g ${item.key}`,
        group: 'Server',
        run: () => void navigate({ to: item.to }),
      });
  }
  for (const item of typed === '' ? [] : offered(serverPages, mayListUsers)) {
    if (contains(item.label))
      commands.push({
        id: item.label,
        label: item.label,
        icon: item.icon,
        group: 'Server',
        run: () => void navigate({ to: item.to, search: {} }),
      });
  }
  return (
    <PickList
      label="Search or jump to"
      placeholder="Search or jump to…"
      query={query}
      onQuery={setQuery}
      picks={commands}
      isLoading={isLoading}
      empty="Nothing has this in its name."
      onPick={(pick) => {
        onClose();
        pick.run();
      }}
    />
  );
}
