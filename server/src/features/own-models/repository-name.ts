/** A repository that a person named, and the revision if they named one. */
export interface RepositoryAddress {
  name: string
  revision: string | null
}

const namePattern = /^[A-Za-z0-9][\w.-]{0,95}\/[A-Za-z0-9][\w.-]{0,95}$/

/** Parses `owner/name` or the URL of a repository's page, on any host; null for anything else. */
export function parseRepositoryName(text: string): RepositoryAddress | null {
  const trimmed = text.trim()
  if (namePattern.test(trimmed)) return { name: trimmed, revision: null }
  const url = URL.parse(/^https?:\/\//.test(trimmed) ? trimmed : `https://${trimmed}`)
  if (url === null || !url.hostname.includes('.')) return null
  const [owner = '', repository = '', view, revision] = url.pathname.split('/').filter((part) => part !== '')
  const name = `${owner}/${repository}`
  if (!namePattern.test(name)) return null
  const isTree = view === 'tree' || view === 'blob' || view === 'resolve'
  if (!isTree || revision === undefined) return { name, revision: null }
  const decoded = decode(revision)
  return decoded === null ? null : { name, revision: decoded }
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}
