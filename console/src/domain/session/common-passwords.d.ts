declare module 'virtual:common-passwords' {
  /** In lower case; built by vite.config.ts */
  export const commonPasswords: ReadonlySet<string>
}
