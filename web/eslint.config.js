// Rules of the page that neither the types nor Prettier check (README.md, "Rules").
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

export default [
  { ignores: ['src/api/schema.ts'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['src/**/*.{ts,tsx}'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin, 'react-hooks': reactHooks },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      'prefer-const': 'error',
      'react-hooks/exhaustive-deps': 'error',
      'react-hooks/rules-of-hooks': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      'no-restricted-globals': ['error', { name: 'fetch', message: 'Use api or guardedFetch, which have a limit.' }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]',
          message: 'Content of others becomes text nodes, images or a sandboxed frame.',
        },
      ],
    },
  },
  // These are what others use instead of fetch(), and a worker, which is ended after a minute.
  { files: ['src/api/*.ts', 'src/preview/sql_engine.ts'], rules: { 'no-restricted-globals': 'off' } },
];
