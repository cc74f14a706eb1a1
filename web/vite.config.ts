import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// ./dev sets these; all results stay in the build directory.
const build = process.env.TARN_WEB_BUILD ?? fileURLToPath(new URL('../build/web', import.meta.url));
const server = process.env.TARN_ENDPOINT ?? 'http://127.0.0.1:8000';

export default defineConfig({
  plugins: [react()],
  cacheDir: `${build}/cache`,
  resolve: {
    alias: {
      '@': fileURLToPath(new URL('./src', import.meta.url)),
      // The package exports this file for Node.js alone.
      'duckdb-blocking': fileURLToPath(
        new URL('./node_modules/@duckdb/duckdb-wasm/dist/duckdb-browser-blocking.mjs', import.meta.url),
      ),
    },
  },
  build: {
    outDir: `${build}/dist`,
    emptyOutDir: true,
    assetsInlineLimit: 0, // the policy of the page allows no data: scripts and styles
    cssTarget: ['chrome123', 'firefox128', 'safari17.5'], // light-dark() is left as it is
    target: 'es2022',
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
  },
  // Module workers load parts on demand. DuckDB has eval() for extensions, which the policy of its worker refuses.
  worker: { format: 'es', rolldownOptions: { checks: { eval: false } } },
  server: {
    host: '127.0.0.1',
    strictPort: false,
    // The browser sees one origin, so the session cookie and the check of the origin work as in production.
    proxy: Object.fromEntries(
      ['/api', '/_health', '/_ready', '/metrics', '/openapi.json', '/logout', '/_blocks', '/downloads'].map((path) => [
        path,
        { target: server, changeOrigin: false },
      ]),
    ),
  },
  // One worker for all files: they share modules, and none of them keeps a state.
  test: { environment: 'node', isolate: false, include: ['src/**/*.test.{ts,tsx}'] },
});
