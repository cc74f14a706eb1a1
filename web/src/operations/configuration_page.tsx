import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { answer, api } from '@/api/client';
import { permitted, resource } from '@/api/permissions';
import { CopyAs } from '@/ui/copy_as';
import { Checkbox, TextField } from '@/ui/field';
import { count, counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { Badge } from '@/ui/text';
import { chosenSettings } from './chosen_settings';
import { OperationsFrame } from './operations_frame';
import styles from './operations.module.css';

const route = getRouteApi('/signed-in/admin/configuration');

/** The settings of the server that answered, as it started, without secrets. */
export function ConfigurationPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const settings = useQuery({
    queryKey: ['server', 'settings'],
    queryFn: ({ signal }) =>
      permitted('auth:ListUsers', resource.all, () => answer(api.GET('/config/settings', { signal }))),
  });
  const set = (part: typeof search) => void navigate({ to: '.', search: { ...search, ...part }, replace: true });
  return (
    <OperationsFrame title="Configuration" scrolls>
      <Loaded query={settings} rows={8}>
        {({ results }) => {
          const shown = chosenSettings(results, search.q ?? '', search.changed === true);
          return (
            <>
              <div className="toolbar">
                <div style={{ width: 260, maxWidth: '100%' }}>
                  <TextField
                    label="Find a setting"
                    hideLabel
                    type="search"
                    placeholder="Find a setting"
                    value={search.q ?? ''}
                    onChange={(q) => set({ q: q || undefined })}
                  />
                </div>
                <Checkbox checked={search.changed === true} onChange={(on) => set({ changed: on || undefined })}>
                  Only changed ones
                </Checkbox>
                <span className="grow" />
                <CopyAs snippets={[{ label: 'tarnd --check-config', text: 'tarnd --check-config' }]} />
              </div>
              <p className="muted" role="status">
                {shown.length === results.length
                  ? counted(results.length, 'setting')
                  : `${count(shown.length)} of ${counted(results.length, 'setting')}`}
                , {count(results.filter((setting) => !setting.default).length)} changed. Of the server that answered, as
                it started.
              </p>
              {shown.length > 0 && (
                <ul className={styles.settings} aria-label="Settings">
                  {shown.map((setting, index) => (
                    <li key={`${setting.name} ${index}`}>
                      <code>{setting.name}</code>
                      <span className={styles.value}>
                        {setting.secret ? (
                          <span className="muted">a secret is set</span>
                        ) : setting.value ? (
                          <code>{setting.value}</code>
                        ) : (
                          <span className="muted">empty</span>
                        )}
                        {!setting.default && <Badge kind="changed">changed</Badge>}
                      </span>
                      <span className="muted">{setting.meaning}</span>
                    </li>
                  ))}
                </ul>
              )}
            </>
          );
        }}
      </Loaded>
    </OperationsFrame>
  );
}
