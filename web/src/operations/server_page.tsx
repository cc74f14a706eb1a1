import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { guardedFetch } from '@/api/client';
import { errorOf } from '@/api/errors';
import { configQuery } from '@/api/session';
import { count } from '@/ui/format';
import { ErrorPanel, Loaded } from '@/ui/states';
import { Badge } from '@/ui/text';
import { parseMetrics, quantile, rate, type Sample, total } from './metrics';
import { OperationsFrame } from './operations_frame';
import { Servers } from './servers';
import { SparkLine } from './spark_line';
import styles from './operations.module.css';

const pollMs = 5000;
/** Ten minutes. */
const samplesMax = 120;

async function readText(path: string, signal: AbortSignal): Promise<string> {
  const response = await guardedFetch(new Request(path, { signal }));
  const text = await response.text();
  if (!response.ok) throw errorOf(response, { message: text.trim().slice(0, 500) || undefined });
  return text;
}

/** Version, health, configuration, and what the server's metrics say since the page was opened. */
export function ServerPage() {
  const config = useQuery(configQuery);
  const ready = useQuery({
    queryKey: ['server', 'ready'],
    queryFn: ({ signal }) => readText('/_ready', signal),
    refetchInterval: pollMs,
    retry: false,
  });
  const metrics = useQuery({
    queryKey: ['server', 'metrics'],
    staleTime: 0,
    queryFn: async ({ signal }) => parseMetrics(await readText('/metrics', signal), Date.now() / 1000),
    refetchInterval: pollMs,
  });
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (metrics.data)
      setSamples((before) =>
        before[before.length - 1] === metrics.data ? before : [...before, metrics.data].slice(-samplesMax),
      );
  }, [metrics.data]);
  const between = (of: (before: Sample, after: Sample) => number | undefined) =>
    samples.slice(1).map((after, at) => of(samples[at]!, after));
  const gauge = (name: string) => samples.map((sample) => total(sample, name));
  const seconds = (value: number) =>
    value < 1 ? `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms` : `${value.toFixed(1)} s`;
  const perSecond = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)}/s`;
  return (
    <OperationsFrame title="Server" scrolls>
      <Loaded query={config} rows={3}>
        {(data) => (
          <dl className="facts">
            <dt>Health</dt>
            <dd>
              {ready.error ? (
                <Badge kind="removed">not ready: {ready.error.message}</Badge>
              ) : ready.data ? (
                <Badge kind="added">ready: database and store answer</Badge>
              ) : (
                <span className="muted">asking</span>
              )}
            </dd>
            <dt>Tarn</dt>
            <dd>{data.version_config?.tarn_version ?? 'unknown'}</dd>
            <dt>Speaks as</dt>
            <dd>
              {data.version_config?.version_context} {data.version_config?.version}
            </dd>
            <dt>Store</dt>
            <dd>
              {data.storage_config?.blockstore_type}, new repositories below{' '}
              <code>{data.storage_config?.default_namespace_prefix}</code>
            </dd>
            <dt>Presigned links</dt>
            <dd>{data.storage_config?.pre_sign_support ? 'yes' : 'no'}</dd>
            <dt>Imports</dt>
            <dd>
              {data.storage_config?.import_support ? (
                <>
                  from addresses like <code>{data.storage_config.import_validity_regex?.replace(/^\^/, '')}</code>
                </>
              ) : (
                'no'
              )}
            </dd>
            {metrics.data && total(metrics.data, 'tarn_clock_offset_seconds') !== undefined && (
              <>
                <dt>Clock</dt>
                <dd>
                  {seconds(Math.abs(total(metrics.data, 'tarn_clock_offset_seconds')!))}{' '}
                  {total(metrics.data, 'tarn_clock_offset_seconds')! >= 0 ? 'ahead of' : 'behind'} the database
                </dd>
              </>
            )}
          </dl>
        )}
      </Loaded>
      <Servers />
      <h2>Since this page was opened</h2>
      {metrics.error && !metrics.data ? (
        <ErrorPanel error={metrics.error} onRetry={() => void metrics.refetch()} />
      ) : (
        <div className={styles.charts}>
          <SparkLine
            title="Requests"
            values={between((a, b) => rate(a, b, 'tarn_http_requests_total'))}
            format={perSecond}
          />
          <SparkLine
            title={'Time to answer, 99\u00a0%'}
            values={between((a, b) => quantile(a, b, 'tarn_http_request_seconds', 0.99))}
            format={seconds}
          />
          <SparkLine
            title="Time to answer, median"
            values={between((a, b) => quantile(a, b, 'tarn_http_request_seconds', 0.5))}
            format={seconds}
          />
          <SparkLine
            title={'Wait in the queue, 99\u00a0%'}
            values={between((a, b) => quantile(a, b, 'tarn_http_queue_wait_seconds', 0.99))}
            format={seconds}
          />
          <SparkLine title="Requests in the queue" values={gauge('tarn_http_queued_requests')} format={count} />
          <SparkLine title="Requests in progress" values={gauge('tarn_http_running_requests')} format={count} />
          <SparkLine
            title="Refused: no free worker"
            values={between((a, b) => rate(a, b, 'tarn_http_refusals_total'))}
            format={perSecond}
          />
          <SparkLine
            title="Failed answers (5xx)"
            values={between((a, b) => rate(a, b, 'tarn_http_requests_total', /"5/))}
            format={perSecond}
          />
          <SparkLine
            title={'Database, 99\u00a0%'}
            values={between((a, b) => quantile(a, b, 'tarn_sql_seconds', 0.99))}
            format={seconds}
          />
          <SparkLine
            title={'Store, 99\u00a0%'}
            values={between((a, b) => quantile(a, b, 'tarn_store_seconds', 0.99))}
            format={seconds}
          />
          <SparkLine title="Connections" values={gauge('tarn_http_connections')} format={count} />
          <SparkLine
            title="Tree nodes read"
            values={between((a, b) => rate(a, b, 'tarn_node_cache_misses_total'))}
            format={perSecond}
          />
        </div>
      )}
      <p className="muted">
        Of the server that answered; others behind the same address have their own figures at /metrics. The page asks
        every {pollMs / 1000} s while it is visible.
      </p>
    </OperationsFrame>
  );
}
