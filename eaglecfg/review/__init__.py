"""What a pull request needs: effective differences, renderings, imports and fixes."""
