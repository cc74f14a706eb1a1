// Icons on a grid of 16, drawn with the colour of the text. Always beside a word or with a label on the button.
const paths = {
  alias: 'M8 2.5 13.5 8 8 13.5 2.5 8Z',
  arrowLeft: 'M10 3 5 8l5 5',
  arrowRight: 'm6 3 5 5-5 5',
  automation: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8Z',
  branch: 'M5 3v10M5 9c6 0 6-2 6-4M5 3.5a1 1 0 1 0 0-.01M5 12.5a1 1 0 1 0 0-.01M11 4.5a1 1 0 1 0 0-.01',
  chart: 'M2.5 2.5v11h11M5 10l3-4 2 2 3.5-4.5',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  chevron: 'm4 6 4 4 4-4',
  close: 'm4 4 8 8m0-8-8 8',
  commit: 'M1.5 8H5m6 0h3.5M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  data: 'M2 8V4.5l2-2h3l1.5 2H14V13H2Z',
  diff: 'M8 3v6M5 6h6M5 13h6',
  download: 'M8 2v8m-3.5-3L8 10.5 11.5 7M2.5 13.5h11',
  edit: 'm3 13 .5-3L11 2.5 13.5 5 6 12.5Z',
  error: 'M8 1.5 15 14H1ZM8 6v4m0 1.7v.6',
  file: 'M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3',
  filter: 'M2 3h12L9.5 8.5v5l-3-2v-3Z',
  folder: 'M1.5 13V3.5h4.5l1.5 2h7V13Z',
  help: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M6 6.2c0-2.6 4-2.6 4 0C10 7.7 8 7.7 8 9.3m0 1.7v.6',
  history: 'M8 4v4.5l3 1.5M2.2 9.5A6 6 0 1 0 3 5M2.5 2.5V5H5',
  info: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M8 7v4.5M8 4.4v.7',
  link: 'M6.5 9.5l3-3M7 4.5 8.5 3A3 3 0 0 1 13 7.500l-1.500 1.500M9 11.500 7.500 13A3 3 0 0 1 3 8.500L4.500 7',
  menu: 'M2 4h12M2 8h12M2 12h12',
  more: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  plug: 'M6 1.500v4M10 1.500v4M4 5.500h8v2.500a4 4 0 0 1-8 0ZM8 12v2.500',
  plus: 'M8 3v10M3 8h10',
  promote: 'M8 13.500v-11M3.500 7 8 2.500 12.500 7',
  request:
    'M4 4.500v7M4 3.500a1 1 0 1 0 0-.01M4 12.500a1 1 0 1 0 0-.01M12 12.500a1 1 0 1 0 0-.01M12 11.500V6q0-2-2-2H7m2-2L7 4l2 2',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.700 10.700 14 14',
  server: 'M2.500 2.500h11v4.500h-11zM2.500 9h11v4.500h-11zM5 4.800h.01M5 11.300h.01',
  settings:
    'M2 4.500h7m3 0h2M2 11.500h2m3 0h7M10.500 6.300a1.800 1.800 0 1 0 0-3.600 1.800 1.800 0 0 0 0 3.600' +
    'M5.500 13.300a1.800 1.800 0 1 0 0-3.600 1.800 1.800 0 0 0 0 3.600',
  tag: 'M2 2h6l6 6-6 6-6-6ZM5 5h.01',
  theme: 'M8 14.500a6.500 6.500 0 1 0 0-13ZM8 1.500v13',
  trash: 'M2.500 4h11M6 4V2.500h4V4M4 4l.500 9.500h7L12 4',
  upload: 'M8 10.500v-8M4.500 6 8 2.500 11.500 6M2.500 13.500h11',
  user: 'M8 7.500a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2.500 14.500c0-6.500 11-6.500 11 0',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.4 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      style={{ flex: 'none' }}
    >
      <path d={paths[name]} />
    </svg>
  );
}
