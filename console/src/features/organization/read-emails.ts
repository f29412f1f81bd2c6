/** The addresses in a text, one per line or separated by commas, each once. */
export function readEmails(typed: string): string[] {
  const found = new Map<string, string>()
  for (const email of typed.split(/[\s,;]+/)) {
    if (email !== '' && !found.has(email.toLowerCase())) found.set(email.toLowerCase(), email)
  }
  return [...found.values()]
}
