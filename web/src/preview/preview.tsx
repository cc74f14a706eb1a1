import { Suspense, lazy } from 'react';
import { EmptyState, Skeleton } from '@/ui/states';
import { type Kind, kindOf } from './kinds';
import type { Shown } from './object_bytes';
import { PreviewBoundary } from './preview_boundary';

const views: Record<Kind, React.LazyExoticComponent<React.ComponentType<{ shown: Shown }>>> = {
  text: lazy(() => import('./text_preview').then((module) => ({ default: module.TextPreview }))),
  markdown: lazy(() => import('./markdown_preview').then((module) => ({ default: module.MarkdownPreview }))),
  html: lazy(() => import('./html_preview').then((module) => ({ default: module.HtmlPreview }))),
  json: lazy(() => import('./tree_preview').then((module) => ({ default: module.JsonPreview }))),
  yaml: lazy(() => import('./tree_preview').then((module) => ({ default: module.YamlPreview }))),
  table: lazy(() => import('./csv_preview').then((module) => ({ default: module.CsvPreview }))),
  parquet: lazy(() => import('./parquet_preview').then((module) => ({ default: module.ParquetPreview }))),
  image: lazy(() => import('./media_preview').then((module) => ({ default: module.ImagePreview }))),
  svg: lazy(() => import('./media_preview').then((module) => ({ default: module.SvgPreview }))),
  audio: lazy(() => import('./media_preview').then((module) => ({ default: module.AudioPreview }))),
  video: lazy(() => import('./media_preview').then((module) => ({ default: module.VideoPreview }))),
  pdf: lazy(() => import('./pdf_preview').then((module) => ({ default: module.PdfPreview }))),
  notebook: lazy(() => import('./notebook_preview').then((module) => ({ default: module.NotebookPreview }))),
  numpy: lazy(() => import('./array_preview').then((module) => ({ default: module.NumpyPreview }))),
  npz: lazy(() => import('./array_preview').then((module) => ({ default: module.NpzPreview }))),
  geo: lazy(() => import('./geo_preview').then((module) => ({ default: module.GeoPreview }))),
  arrow: lazy(() => import('./arrow_preview').then((module) => ({ default: module.ArrowPreview }))),
  tiff: lazy(() => import('./tiff_preview').then((module) => ({ default: module.TiffPreview }))),
  none: lazy(() => import('./unknown_preview').then((module) => ({ default: module.UnknownPreview }))),
  safetensors: lazy(() => import('./array_preview').then((module) => ({ default: module.SafetensorsPreview }))),
};

/** A preview of the contents of an object; nothing of it is ever run. */
export function Preview({ shown }: { shown: Shown }) {
  const kind = kindOf(shown.path, shown.contentType);
  if (shown.size === 0) return <EmptyState icon="file">The object is empty.</EmptyState>;
  const View = views[kind];
  return (
    <PreviewBoundary key={`${shown.path} ${shown.checksum}`} shown={shown}>
      <Suspense fallback={<Skeleton rows={6} />}>
        <View shown={shown} />
      </Suspense>
    </PreviewBoundary>
  );
}
