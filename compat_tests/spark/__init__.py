"""The Spark data sources and the offset report on both servers."""
