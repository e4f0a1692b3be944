"""The exact launch of a deployment, as a shell script, an env file, a compose service or a manifest."""
