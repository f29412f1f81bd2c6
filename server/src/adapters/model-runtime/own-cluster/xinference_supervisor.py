"""Starts Xinference's supervisor with Berth as its only user, so that it is never without one."""

import os
import sys

USER = "berth"


def set_password(password):
    from xinference.api.oauth2.advanced.auth_service import INITIAL_ADMIN_PERMISSIONS
    from xinference.api.oauth2.advanced.auth_store import create_auth_store
    from xinference.api.oauth2.advanced.crypto import get_password_hash
    from xinference.constants import XINFERENCE_AUTH_DB_PATH

    os.makedirs(os.path.dirname(XINFERENCE_AUTH_DB_PATH), mode=0o700, exist_ok=True)
    store = create_auth_store(XINFERENCE_AUTH_DB_PATH)
    hashed = get_password_hash(password)
    user = store.get_user_by_username(USER, "local")
    if user is None:
        store.create_user(USER, hashed, permissions=INITIAL_ADMIN_PERMISSIONS)
    else:
        store.update_password_and_revoke_tokens(user["id"], hashed)


def main():
    password = os.environ.pop("BERTH_SERVER_KEY")
    # The programs that it starts need none of these.
    for name in ("LLAMA_API_KEY", "VLLM_API_KEY"):
        os.environ.pop(name, None)
    set_password(password)
    from xinference.deploy.cmdline import supervisor

    sys.exit(supervisor())


if __name__ == "__main__":
    main()
