import { flag, integer, oneOf, text, texts } from '@/app/search_params';

const runViews = ['table', 'side', 'curves', 'parallel', 'scatter', 'box', 'correlation'] as const;
export const runStates = ['running', 'finished', 'failed', 'stale'] as const;
export type RunState = (typeof runStates)[number];
export type RunView = (typeof runViews)[number];

/** Columns and axes are "metrics.NAME" or "params.NAME". */
export interface RunsSearch {
  view?: RunView | undefined;
  experiment?: string | undefined;
  branch?: string | undefined;
  git_sha?: string | undefined;
  /** A part of the name. */
  name?: string | undefined;
  tag?: string[] | undefined;
  state?: RunState | undefined;
  where?: string[] | undefined;
  order?: string | undefined;
  column?: string[] | undefined;
  /** Those of the columns that stay at the left. */
  pin?: string[] | undefined;
  /** A parameter whose values are the rows. */
  group?: string | undefined;
  /** Ids of the selected runs. */
  run?: string[] | undefined;
  /** The values that curves, boxes and axes show. */
  metric?: string | undefined;
  x?: string | undefined;
  y?: string | undefined;
  /** Metrics of further charts of curves. */
  chart?: string[] | undefined;
  /** Weight of the points before, in percent. */
  smooth?: number | undefined;
  log?: true | undefined;
  /** Also rows in which all runs are equal. */
  equal?: true | undefined;
}

export function runsSearchOf(raw: Record<string, unknown>): RunsSearch {
  return {
    view: oneOf(raw.view, runViews),
    experiment: text(raw.experiment),
    branch: text(raw.branch),
    git_sha: text(raw.git_sha),
    name: text(raw.name),
    tag: texts(raw.tag),
    state: oneOf(raw.state, runStates),
    where: texts(raw.where),
    order: text(raw.order),
    column: texts(raw.column),
    pin: texts(raw.pin),
    group: text(raw.group),
    run: texts(raw.run),
    metric: text(raw.metric),
    x: text(raw.x),
    y: text(raw.y),
    chart: texts(raw.chart),
    smooth: integer(raw.smooth, 0, 99),
    log: flag(raw.log),
    equal: flag(raw.equal),
  };
}
