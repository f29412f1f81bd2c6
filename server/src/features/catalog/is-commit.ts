/** True for a commit of the Hub, which never changes, unlike a branch or a tag. */
export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision)
}
