// GeoJSON (RFC 7946) as lines on a plane: longitude to the right, latitude up, scaled at the middle latitude.

type Position = readonly number[];
interface Geometry {
  type: string;
  coordinates?: unknown;
  geometries?: Geometry[];
}
interface Feature {
  geometry: Geometry | null;
  properties: Record<string, unknown>;
}

/** [west, south, east, north] */
export type Bounds = readonly [number, number, number, number];

export interface Shape {
  kind: 'point' | 'line' | 'area';
  feature: number;
  /** Points of each line or ring. */
  lines: readonly (readonly [number, number])[][];
}

export interface GeoDrawing {
  features: number;
  shapes: Shape[];
  bounds: Bounds | null;
  properties: Record<string, unknown>[];
  /** Not all is drawn. */
  isCut: boolean;
}

export const pointsMax = 200_000;
const depthMax = 20;

/** null if it is no GeoJSON. */
export function drawingOf(value: unknown): GeoDrawing | null {
  const features = featuresOf(value);
  if (!features) return null;
  const shapes: Shape[] = [];
  const bounds: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
  let points = 0;
  let isCut = false;
  const lineOf = (coordinates: unknown): [number, number][] => {
    const out: [number, number][] = [];
    for (const position of Array.isArray(coordinates) ? (coordinates as Position[]) : []) {
      const [x, y] = Array.isArray(position) ? position : [];
      if (typeof x !== 'number' || typeof y !== 'number' || !Number.isFinite(x) || !Number.isFinite(y)) continue;
      if (points >= pointsMax) {
        isCut = true;
        break;
      }
      ++points;
      bounds[0] = Math.min(bounds[0], x);
      bounds[1] = Math.min(bounds[1], y);
      bounds[2] = Math.max(bounds[2], x);
      bounds[3] = Math.max(bounds[3], y);
      out.push([x, y]);
    }
    return out;
  };
  const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  const add = (geometry: Geometry | null, feature: number, depth: number) => {
    if (!geometry || typeof geometry !== 'object' || depth > depthMax) return;
    const { type, coordinates } = geometry;
    const shape = (kind: Shape['kind'], lines: unknown[]) => {
      const drawn = lines.map(lineOf).filter((line) => line.length > 0);
      if (drawn.length > 0) shapes.push({ kind, feature, lines: drawn });
    };
    if (type === 'Point') shape('point', [[coordinates]]);
    else if (type === 'MultiPoint') shape('point', [coordinates]);
    else if (type === 'LineString') shape('line', [coordinates]);
    else if (type === 'MultiLineString') shape('line', listOf(coordinates));
    else if (type === 'Polygon') shape('area', listOf(coordinates));
    else if (type === 'MultiPolygon') for (const polygon of listOf(coordinates)) shape('area', listOf(polygon));
    else if (type === 'GeometryCollection')
      for (const part of listOf(geometry.geometries)) add(part as Geometry, feature, depth + 1);
  };
  features.forEach((feature, index) => add(feature.geometry, index, 0));
  return {
    features: features.length,
    shapes,
    bounds: points > 0 ? bounds : null,
    properties: features.map((feature) => feature.properties),
    isCut,
  };
}

const geometryTypes = [
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
];

function featuresOf(value: unknown): Feature[] | null {
  if (typeof value !== 'object' || value === null) return null;
  const { type, features, geometry, properties } = value as {
    type?: unknown;
    features?: unknown;
    geometry?: unknown;
    properties?: unknown;
  };
  if (type === 'FeatureCollection')
    return Array.isArray(features) ? features.flatMap((item) => featuresOf(item) ?? []) : null;
  if (type === 'Feature')
    return [
      {
        geometry: (geometry ?? null) as Geometry | null,
        properties:
          typeof properties === 'object' && properties !== null ? (properties as Record<string, unknown>) : {},
      },
    ];
  if (geometryTypes.includes(String(type))) return [{ geometry: value as Geometry, properties: {} }];
  return null;
}

/** From coordinates to pixels of a drawing of that width; its height follows. */
export function projection([west, south, east, north]: Bounds, width: number, margin: number) {
  const stretch = Math.max(0.05, Math.cos((((south + north) / 2) * Math.PI) / 180));
  const across = Math.max((east - west) * stretch, 1e-9);
  const up = Math.max(north - south, 1e-9);
  const inner = width - 2 * margin;
  const scale = Math.min(inner / across, inner / up);
  const height = Math.ceil(up * scale) + 2 * margin;
  const left = margin + (inner - across * scale) / 2;
  return {
    height,
    at: ([x, y]: readonly [number, number]): [number, number] => [
      left + (x - west) * stretch * scale,
      margin + (north - y) * scale,
    ],
  };
}
