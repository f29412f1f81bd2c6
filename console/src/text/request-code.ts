/** The playground’s request as code. */
export const requestCode = {
  codeTitle: 'Code for this request',
  codeMore: 'Berth has no API keys: the code sends the session in the environment variable BERTH_COOKIE.',
  language: 'Language',
  languages: { curl: 'curl', python: 'Python', javascript: 'JavaScript' },
  exampleMessage: 'Hello!',
}
